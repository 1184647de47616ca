package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"pinfold.dev/pinfold"
)

var pod = json.RawMessage(`{"metadata": {"name": "db", "uid": "db-1"}, "spec": {"containers": [
	{"name": "main", "resources": {"limits": {"cpu": 2, "memory": "1Gi"}}}]}}`)

func main() {
	ctx := context.Background()
	client, err := pinfold.Dial(ctx, os.Args[1]) // "": /run/pinfold/agent.sock
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	admissions, err := client.Admit(ctx, pod)
	if err != nil {
		log.Fatal(err)
	}
	for _, container := range admissions[0].Pod.Containers {
		fmt.Printf("%s: cpus %s, shares %d\n", container.Name, container.CPUs, container.CPUShares)
	}
	if err := client.Remove(ctx, "db-1", "", false); err != nil {
		log.Fatal(err)
	}
}
