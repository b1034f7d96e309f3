from parley.console.cli import main

main()
