module github.com/loadctl/loadctl/deploy

go 1.26.0
