// Package pinfold asks a Pinfold service on its Unix socket: it admits pods, and gives their
// containers CPUs and NUMA nodes as the kubelet does. It needs neither cgo nor gRPC. The protocol,
// and who may use the socket, are in docs/service.md.
package pinfold

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// DefaultSocket is where a service listens by default.
const DefaultSocket = "/run/pinfold/agent.sock"

const (
	protocolVersion = 2
	maxAnswer       = 16 << 20
	notRecoverable  = 131 // ENOTRECOVERABLE: the outcome is unknown
)

// Code is the kind of a failure.
type Code string

// The codes of the service.
const (
	InvalidArgument Code = "invalid argument"
	NotFound        Code = "not found"
	Corrupt         Code = "corrupt"
	IO              Code = "input/output error"
	Unsupported     Code = "unsupported"
	Internal        Code = "internal error"
	Busy            Code = "busy"
)

// Error is a failure that the service reports. Nothing has changed then, unless IsUnknown.
type Error struct {
	Code    Code   `json:"code"`
	Errno   int    `json:"errno"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// ErrUnknown wraps the failure of a request that may have been done, or not.
var ErrUnknown = errors.New("the change may have been made")

// IsUnknown returns whether the request that failed may have been done.
func IsUnknown(err error) bool {
	var failure *Error
	return errors.Is(err, ErrUnknown) ||
		errors.As(err, &failure) && failure.Code == IO && failure.Errno == notRecoverable
}

// IsCode returns whether the service reported a failure of this kind.
func IsCode(err error, code Code) bool {
	var failure *Error
	return errors.As(err, &failure) && failure.Code == code
}

// NotEnforcedError says that a change is decided and stored, but not yet applied to the kernel. Do
// not start the container; Reconcile tries again.
type NotEnforcedError struct{ Cause Error }

func (e *NotEnforcedError) Error() string {
	return "decided and stored, but not applied to the kernel: " + e.Cause.Message
}

// Rejection says why a pod is rejected, in the kubelet's words.
type Rejection struct {
	Reason  string `json:"reason"` // "TopologyAffinityError", "OutOfcpu"
	Message string `json:"message"`
	Cause   string `json:"cause"`
}

func (r *Rejection) Error() string { return r.Reason + ": " + r.Message }

// NotResized says why a resize was refused.
type NotResized struct {
	Reason    string    `json:"reason"` // "Deferred", "Infeasible"
	Rejection Rejection `json:"rejection"`
	Advice    string    `json:"advice"`
}

func (n *NotResized) Error() string { return n.Reason + ": " + n.Rejection.Message }

// MemoryBlock is memory of one type on NUMA nodes.
type MemoryBlock struct {
	Type      string `json:"type"` // "memory", "hugepages-2Mi"
	NumaNodes []int  `json:"numaNodes"`
	SizeBytes uint64 `json:"sizeBytes"`
}

// Container is a container as the service wants it. Lists of CPUs and NUMA nodes are like "1-2,5";
// "" is any.
type Container struct {
	Name          string              `json:"name"`
	Isolation     string              `json:"isolation"` // "container", "pod" or "host"
	CPUs          string              `json:"cpus"`
	ExclusiveCPUs string              `json:"exclusiveCpus"`
	Mems          string              `json:"mems"`
	Memory        []MemoryBlock       `json:"memory"`
	Devices       map[string][]string `json:"devices"`
	CPUQuota      *int64              `json:"cpuQuota"`  // in us; nil: unchanged
	CPUPeriod     *uint64             `json:"cpuPeriod"` // in us
	CPUShares     uint64              `json:"cpuShares"` // of cgroup v1
	CPUWeight     uint64              `json:"cpuWeight"` // of cgroup v2
	MemoryLimit   *int64              `json:"memoryLimitBytes"`
	HugepageLimit map[string]uint64   `json:"hugepageLimitBytes"` // by "2MB", "1GB"
	OOMScoreAdj   *int                `json:"oomScoreAdj"`
	Values        map[string]string   `json:"values"`  // desired values of its cgroup by file
	Started       bool                `json:"started"` // at least once since the admission
	WhyShared     string              `json:"whyShared"`
	Cgroup        string              `json:"cgroup"`     // below the root
	CgroupPath    string              `json:"cgroupPath"` // absolute; "": nothing is enforced
	Problem       string              `json:"problem"`    // of Status: how it differs
}

// Pod is a pod with its resources.
type Pod struct {
	UID        string      `json:"uid"`
	Namespace  string      `json:"namespace"`
	Name       string      `json:"name"`
	QOSClass   *string     `json:"qosClass"`
	Cgroup     string      `json:"cgroup"`
	CgroupPath string      `json:"cgroupPath"`
	Problem    string      `json:"problem"`
	Containers []Container `json:"containers"`
	Held       bool        `json:"held"`     // only the kubelet's files name it
	Admitted   bool        `json:"admitted"` // not set by Status
	Rejection  *Rejection  `json:"rejection"`
}

// Admission is the answer to one pod.
type Admission struct {
	Pod         Pod
	Rejection   *Rejection // nil: admitted
	NotEnforced *Error     // see NotEnforcedError
}

// Status is a node, desired and observed.
type Status struct {
	Profile        string   `json:"profile"`
	SharedPool     string   `json:"sharedPool"`
	ReservedCPUs   string   `json:"reservedCpus"`
	OfflineCPUs    string   `json:"offlineCpus"`
	Pods           []Pod    `json:"pods"`
	Drift          []string `json:"drift"`
	MachineChanges []string `json:"machineChanges"`
	OK             bool     `json:"ok"`
}

// Report is what a reconciliation found and did.
type Report struct {
	Drift     []string `json:"drift"`
	Steps     []string `json:"steps"`
	Remaining []string `json:"remaining"`
	Notes     []string `json:"notes"`
	OK        bool     `json:"ok"`
}

// Hello is what the service says of itself.
type Hello struct {
	Version    int             `json:"version"`
	Software   string          `json:"software"`
	StateDir   string          `json:"stateDir"`
	Machine    json.RawMessage `json:"machine"`
	Config     json.RawMessage `json:"config"`
	CgroupRoot string          `json:"cgroupRoot"` // "": it enforces nothing
}

// Process is a process of this machine, and not a later one with the same number.
type Process struct {
	PID       int    `json:"pid"`
	StartTime uint64 `json:"startTime"` // field 22 of /proc/PID/stat
}

// Identify reads when a process started.
func Identify(pid int) (Process, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Process{}, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const startTime = 22 - 3 // the first field here is the third
	if len(fields) <= startTime {
		return Process{}, fmt.Errorf("/proc/%d/stat: too short", pid)
	}
	start, err := strconv.ParseUint(fields[startTime], 10, 64)
	return Process{pid, start}, err
}

// Client is a connection to the service. Its methods may be called from several goroutines; calls
// are done one after the other. After an error of the connection every call fails: Dial again.
type Client struct {
	mutex      sync.Mutex
	connection net.Conn
	reader     *bufio.Reader
	hello      Hello
	broken     error
}

// Dial connects to the service on a socket; "" is DefaultSocket.
func Dial(ctx context.Context, socket string) (*Client, error) {
	if socket == "" {
		socket = DefaultSocket
	}
	connection, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	client := &Client{connection: connection, reader: bufio.NewReader(connection)}
	request := map[string]any{"hello": map[string]int{"version": protocolVersion}}
	answer := struct{ Hello *Hello }{&client.hello}
	if _, err := client.exchange(ctx, request, &answer); err != nil {
		connection.Close()
		return nil, fmt.Errorf("service at '%s': %w", socket, err)
	}
	return client, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.connection.Close() }

// Hello returns what the service said of itself when the connection began.
func (c *Client) Hello() Hello { return c.hello }

// Admit admits or rejects pods in one transaction: v1 Pods, each as json.RawMessage or as any value
// that encoding/json encodes to one. A pod that is already active keeps its resources. A pod that has
// finished is skipped: it has no Admission.
func (c *Client) Admit(ctx context.Context, manifests ...any) ([]Admission, error) {
	var answer struct {
		Admissions struct {
			Outcomes []struct {
				Rejection   *Rejection
				NotEnforced *Error
			}
			Pods []Pod
		}
	}
	request := map[string]any{"manifests": manifests}
	if err := c.call(ctx, true, "admit", request, &answer); err != nil {
		return nil, err
	}
	outcomes, pods := answer.Admissions.Outcomes, answer.Admissions.Pods
	if len(outcomes) > len(manifests) || len(pods) != len(outcomes) {
		return nil, errors.New("the answer is for other pods")
	}
	admissions := make([]Admission, len(pods))
	for i := range admissions {
		admissions[i] = Admission{pods[i], outcomes[i].Rejection, outcomes[i].NotEnforced}
	}
	return admissions, nil
}

// Start says that a container of an admitted pod is about to start.
func (c *Client) Start(ctx context.Context, podUID, container string) error {
	return c.change(ctx, "start", map[string]any{"podUid": podUID, "container": container})
}

// Attach moves a process into the cgroup of a container.
func (c *Client) Attach(ctx context.Context, podUID, container string, process Process) error {
	var done any
	return c.call(ctx, true, "attach",
		map[string]any{"podUid": podUID, "container": container, "process": process}, &done)
}

// Adopt makes a cgroup that the caller created the container's. `cgroupPath` is absolute. If the
// container is not removed, it ends with the last process of the cgroup, or with the cgroup if that
// has no process yet.
func (c *Client) Adopt(ctx context.Context, podUID, container, cgroupPath string) error {
	return c.change(ctx, "adopt",
		map[string]any{"podUid": podUID, "container": container, "cgroupPath": cgroupPath})
}

// Remove removes a pod or, unless `container` is "", one of its containers. With `kill` it kills
// processes that still run; without it they are an error.
func (c *Client) Remove(ctx context.Context, podUID, container string, kill bool) error {
	request := map[string]any{"podUid": podUID, "kill": kill}
	if container != "" {
		request["container"] = container
	}
	return c.change(ctx, "remove", request)
}

// Resize changes the number of exclusive CPUs of a running container, and returns its exclusive CPUs
// ("2-5"). The error is a *NotResized if it keeps what it has.
func (c *Client) Resize(ctx context.Context, podUID, container string, milliCPU int64) (string,
	error) {
	var answer struct {
		Resize struct {
			Refused     *NotResized
			CPUs        string `json:"cpusAfter"`
			NotEnforced *Error
		}
	}
	request := map[string]any{"podUid": podUID, "container": container, "cpuAmount": milliCPU}
	if err := c.call(ctx, true, "resize", request, &answer); err != nil {
		return "", err
	}
	if answer.Resize.Refused != nil {
		return "", answer.Resize.Refused
	}
	if failure := answer.Resize.NotEnforced; failure != nil {
		return answer.Resize.CPUs, &NotEnforcedError{*failure}
	}
	return answer.Resize.CPUs, nil
}

// Create admits the pod of one container and adopts the cgroup that the caller made for it, in one
// transaction. Call it before the container's program runs. `process` is the container's first
// process; nil: there is none yet, and the container ends with its cgroup. The error is a
// *Rejection if the pod is rejected.
func (c *Client) Create(ctx context.Context, manifest any, container, cgroupPath string,
	process *Process) error {
	request := map[string]any{
		"manifest": manifest, "container": container, "cgroupPath": cgroupPath}
	if process != nil {
		request["process"] = *process
	}
	return c.hook(ctx, "admitHooked", request)
}

// Delete releases what a container from Create has. It may be called twice.
func (c *Client) Delete(ctx context.Context, podUID, container string) error {
	return c.hook(ctx, "removeHooked", map[string]any{"podUid": podUID, "container": container})
}

// Status returns the node, desired and observed.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var answer struct{ Status Status }
	err := c.call(ctx, false, "status", struct{}{}, &answer)
	return answer.Status, err
}

// List returns the active pods in the order of their admission, then the held ones.
func (c *Client) List(ctx context.Context) ([]Pod, error) {
	var answer struct{ List struct{ Pods []Pod } }
	err := c.call(ctx, false, "list", struct{}{}, &answer)
	return answer.List.Pods, err
}

// Reconcile brings the cgroups back to the desired state.
func (c *Client) Reconcile(ctx context.Context) (Report, error) {
	var answer struct{ Report Report }
	err := c.call(ctx, true, "reconcile", struct{}{}, &answer)
	return answer.Report, err
}

func (c *Client) change(ctx context.Context, name string, request any) error {
	var answer struct{ Change struct{ NotEnforced *Error } }
	if err := c.call(ctx, true, name, request, &answer); err != nil {
		return err
	}
	if failure := answer.Change.NotEnforced; failure != nil {
		return &NotEnforcedError{*failure}
	}
	return nil
}

func (c *Client) hook(ctx context.Context, name string, request any) error {
	var answer struct {
		Hook *struct {
			Error     Error
			Rejection *Rejection
		}
	}
	if err := c.call(ctx, true, name, request, &answer); err != nil || answer.Hook == nil {
		return err
	}
	if answer.Hook.Rejection != nil {
		return answer.Hook.Rejection
	}
	return &answer.Hook.Error
}

// call sends a request and decodes its answer. The service gives up a request that waits beyond the
// deadline of ctx.
func (c *Client) call(ctx context.Context, changes bool, name string, request, answer any) error {
	message := map[string]any{name: request}
	const longest = 3600.0
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline).Seconds(); left > 0 && left < longest {
			message["timeoutSeconds"] = left
		}
	}
	isSent, err := c.exchange(ctx, message, answer)
	var failure *Error
	if err != nil && isSent && changes && !errors.As(err, &failure) {
		err = fmt.Errorf("%w: %v", ErrUnknown, err)
	}
	return err
}

// exchange sends one line and reads one. It returns whether the whole line was sent.
func (c *Client) exchange(ctx context.Context, message, answer any) (bool, error) {
	line, err := json.Marshal(message)
	if err != nil {
		return false, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err := ctx.Err(); err != nil || c.broken != nil {
		return false, firstOf(c.broken, err)
	}
	stop := c.follow(ctx)
	defer stop()
	if _, err := c.connection.Write(append(line, '\n')); err != nil {
		c.broken = firstOf(ctx.Err(), err)
		return false, c.broken
	}
	read, err := c.readLine()
	if err != nil {
		c.broken = firstOf(ctx.Err(), err)
		return true, c.broken
	}
	var failed struct{ Error *Error }
	if err := json.Unmarshal(read, &failed); err != nil {
		return true, err
	}
	if failed.Error != nil {
		return true, failed.Error
	}
	return true, json.Unmarshal(read, answer)
}

func (c *Client) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := c.reader.ReadSlice('\n')
		line = append(line, part...)
		if err == nil || err != bufio.ErrBufferFull {
			if err == io.EOF {
				err = errors.New("the service closed the connection")
			}
			return line, err
		}
		if len(line) > maxAnswer {
			return nil, fmt.Errorf("answer longer than %d bytes", maxAnswer)
		}
	}
}

// follow ends reads and writes of the connection when ctx ends; call the result to stop that.
func (c *Client) follow(ctx context.Context) (stop func()) {
	c.connection.SetDeadline(time.Time{})
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-ctx.Done():
			c.connection.SetDeadline(time.Unix(1, 0))
		case <-done:
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
