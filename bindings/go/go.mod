module pinfold.dev/pinfold

go 1.19
