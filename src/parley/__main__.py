from parley.console.cli.start import main

main()
