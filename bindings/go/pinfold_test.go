package pinfold

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const machine = `{"name":"n","cpus":[
	{"id":0,"core":0,"socket":0,"numa":0,"l3":0},{"id":1,"core":1,"socket":0,"numa":0,"l3":0},
	{"id":2,"core":2,"socket":0,"numa":0,"l3":0},{"id":3,"core":3,"socket":0,"numa":0,"l3":0}],
	"numaNodes":[{"id":0,"memory":4294967296,"hugepages":{}}],"devices":[]}`

func pod(name string, cpus string) json.RawMessage {
	return json.RawMessage(`{"metadata":{"name":"` + name + `","uid":"uid-` + name + `"},
		"spec":{"containers":[{"name":"main",
			"resources":{"limits":{"cpu":` + cpus + `,"memory":"64Mi"}}}]}}`)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func expect[T any](t *testing.T, got, expected T) {
	t.Helper()
	if !reflect.DeepEqual(got, expected) {
		t.Errorf("got %v, expected %v", got, expected)
	}
}

func background(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// serve starts a service and returns a connection to it.
func serve(t *testing.T) *Client {
	command := os.Getenv("PINFOLD_COMMAND")
	if command == "" {
		t.Skip("PINFOLD_COMMAND does not name the command 'pinfold'")
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "s.sock")
	must(t, os.WriteFile(filepath.Join(dir, "machine.json"), []byte(machine), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "config.yaml"),
		[]byte("cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"), 0o600))
	service := exec.Command(command, "serve", "--state-dir", filepath.Join(dir, "state"),
		"--machine", filepath.Join(dir, "machine.json"), "--config", filepath.Join(dir, "config.yaml"),
		"--no-enforce", "--socket", socket)
	service.Stderr = os.Stderr
	must(t, service.Start())
	t.Cleanup(func() {
		service.Process.Kill()
		service.Wait()
	})
	ctx := background(t)
	for {
		client, err := Dial(ctx, socket)
		if err == nil {
			t.Cleanup(func() { client.Close() })
			return client
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestCalls(t *testing.T) {
	client, ctx := serve(t), background(t)
	expect(t, client.Hello().Version, 2)
	admissions, err := client.Admit(ctx, pod("web", "2"), pod("big", "9"))
	must(t, err)
	web, big := admissions[0], admissions[1]
	expect(t, web.Rejection, nil)
	expect(t, web.Pod.Admitted, true)
	expect(t, web.Pod.UID, "uid-web")
	expect(t, web.Pod.Containers[0].ExclusiveCPUs, "1-2")
	expect(t, *web.Pod.Containers[0].MemoryLimit, int64(64<<20))
	expect(t, big.Rejection.Reason, "UnexpectedAdmissionError")
	expect(t, big.Pod.Containers, []Container{})
	cpus, err := client.Resize(ctx, "uid-web", "main", 3000)
	must(t, err)
	expect(t, cpus, "1-3")
	var refused *NotResized
	if _, err = client.Resize(ctx, "uid-web", "main", 1500); !errors.As(err, &refused) {
		t.Fatal(err)
	}
	expect(t, refused.Reason, "Infeasible")
	_, err = client.Resize(ctx, "uid-web", "main", 2000)
	must(t, err)
	must(t, client.Start(ctx, "uid-web", "main"))

	pods, err := client.List(ctx)
	must(t, err)
	expect(t, len(pods), 1)
	expect(t, pods[0].Containers[0].CPUs, "1-2")
	status, err := client.Status(ctx)
	must(t, err)
	expect(t, status.OK, true)
	expect(t, status.SharedPool, "0,3")
	expect(t, status.Pods[0].Name, "web")

	err = client.Start(ctx, "uid-web", "none")
	expect(t, IsCode(err, NotFound), true)
	expect(t, IsUnknown(err), false)
	_, err = client.Reconcile(ctx)
	expect(t, IsCode(err, Unsupported), true) // it enforces nothing
	_, err = client.Admit(ctx, json.RawMessage(`{}`))
	expect(t, IsCode(err, InvalidArgument), true)
	_, err = client.Admit(ctx, json.RawMessage(`{"metadata":{"name":"x"},"spec":{"containers":[
		{"name":"c","resources":{"requests":{"cpu":2},"limits":{"cpu":1}}}]}}`))
	expect(t, IsCode(err, InvalidArgument), true) // the API server would reject it
	must(t, client.Create(ctx, pod("run", "1"), "main", "/sys/fs/cgroup/run", nil))
	pods, err = client.List(ctx)
	must(t, err)
	expect(t, pods[1].Containers[0].ExclusiveCPUs, "3")
	expect(t, pods[1].Containers[0].CgroupPath, "")
	var rejection *Rejection
	err = client.Create(ctx, pod("more", "1"), "main", "/sys/fs/cgroup/more", nil)
	expect(t, errors.As(err, &rejection), true)
	for i := 0; i < 2; i++ {
		must(t, client.Delete(ctx, "uid-run", "main"))
	}
	self, err := Identify(os.Getpid())
	must(t, err)
	err = client.Attach(ctx, "uid-web", "main", self)
	expect(t, IsCode(err, Unsupported), true)
	err = client.Adopt(ctx, "uid-web", "main", "/tmp")
	expect(t, IsCode(err, Unsupported), true)

	must(t, client.Remove(ctx, "uid-web", "main", false))
	must(t, client.Remove(ctx, "uid-web", "", true))
	expect(t, IsCode(client.Remove(ctx, "uid-web", "", false), NotFound), true)
}

// answering is a service that answers each request after the greeting with one text; "" closes the
// connection.
func answering(t *testing.T, answer string) *Client {
	path := filepath.Join(t.TempDir(), "s.sock")
	listener, err := net.Listen("unix", path)
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		defer connection.Close()
		lines := bufio.NewScanner(connection)
		lines.Scan()
		connection.Write([]byte(`{"hello":{"version":2,"stateDir":"/s"}}` + "\n"))
		for lines.Scan() {
			if answer == "" {
				return
			}
			connection.Write([]byte(answer))
		}
	}()
	client, err := Dial(background(t), path)
	must(t, err)
	return client
}

func TestFailures(t *testing.T) {
	ctx := background(t)
	for _, answer := range []string{"", "[\n", "{\"change\":3}\n"} {
		client := answering(t, answer)
		expect(t, IsUnknown(client.Start(ctx, "u", "c")), true)
		client = answering(t, answer)
		_, err := client.List(ctx)
		expect(t, IsUnknown(err), false) // it changes nothing
		client.Close()
	}
	client := answering(t, `{"error":{"code":"input/output error","errno":131,"message":"m"}}`+"\n")
	expect(t, IsUnknown(client.Start(ctx, "u", "c")), true)
	client = answering(t, `{"change":{"notEnforced":{"code":"busy","message":"m"}}}`+"\n")
	var notEnforced *NotEnforcedError
	expect(t, errors.As(client.Start(ctx, "u", "c"), &notEnforced), true)
	client = answering(t, `{"hook":{"summary":"s","error":{"code":"unsupported","message":"m"},`+
		`"rejection":{"reason":"OutOfcpu","message":"n","cause":""}}}`+"\n")
	var rejection *Rejection
	expect(t, errors.As(client.Create(ctx, pod("a", "1"), "main", "/g", nil), &rejection), true)
	_, err := Dial(ctx, filepath.Join(t.TempDir(), "none"))
	expect(t, errors.Is(err, os.ErrNotExist), true)
}

func TestDeadline(t *testing.T) {
	client := answering(t, " ") // never a whole line
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := client.Start(ctx, "u", "c")
	expect(t, IsUnknown(err), true)
	expect(t, IsUnknown(client.Start(background(t), "u", "c")), false) // it was not sent
}

// schema returns the properties of the types in one of the project's schemas.
func schema(t *testing.T, name string) map[string]map[string]any {
	text, err := os.ReadFile(filepath.Join("../../docs/schema", name+".schema.json"))
	must(t, err)
	var document struct {
		Defs map[string]struct {
			Properties map[string]any
		} `json:"$defs"`
	}
	must(t, json.Unmarshal(text, &document))
	types := map[string]map[string]any{}
	for name, one := range document.Defs {
		types[name] = one.Properties
	}
	return types
}

func TestMirrorsTheSchemas(t *testing.T) {
	answers, requests := schema(t, "socket-answer"), schema(t, "socket-request")
	for name, value := range map[string]any{
		"Error": Error{}, "Rejection": Rejection{}, "MemoryBlock": MemoryBlock{},
		"ContainerStatus": Container{}, "DecidedPod": Pod{}, "Status": Status{},
		"ReconcileReport": Report{},
	} {
		of := reflect.TypeOf(value)
		for i := 0; i < of.NumField(); i++ {
			member := of.Field(i).Tag.Get("json")
			if _, known := answers[name][member]; !known {
				t.Errorf("%s has no member '%s'", name, member)
			}
		}
	}
	source, err := os.ReadFile("pinfold.go")
	must(t, err)
	for name, members := range map[string]string{
		"AdmitRequest": "manifests", "StartRequest": "podUid container",
		"AttachRequest": "podUid container process", "AdoptRequest": "podUid container cgroupPath",
		"RemoveRequest":       "podUid container kill",
		"AdmitHookedRequest":  "manifest container cgroupPath process",
		"RemoveHookedRequest": "podUid container",
		"ResizeRequest":       "podUid container cpuAmount",
		"ProcessId":           "pid startTime",
	} {
		for _, member := range strings.Fields(members) {
			if _, known := requests[name][member]; !known {
				t.Errorf("%s has no member '%s'", name, member)
			}
			if !strings.Contains(string(source), `"`+member+`"`) {
				t.Errorf("no request has the member '%s'", member)
			}
		}
	}
}
