from parley.console.cli.main import main

main()
