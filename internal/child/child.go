// Package child runs processes that end no later than the one that starts them.
//
//	p, err := child.Start(exec.Command("loadctl", "target"), nil)
//	…
//	defer p.Kill()
//	<-p.Exited // p.Cmd.ProcessState tells how
//
// On Linux the kernel kills a child when its parent ends, even by SIGKILL. Other systems cannot do that.
package child

import (
	"bytes"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// pipesAfterEnd is how long after the end of a process its output is read: a child of its own may keep the pipes open.
const pipesAfterEnd = time.Second

// Process is a command that runs beside this program.
type Process struct {
	Cmd            *exec.Cmd
	Stdout, Stderr Output        // what it has printed so far, unless the command had writers of its own
	Exited         chan struct{} // closed when it has ended: then Cmd.ProcessState says how
}

// Start starts a command. If before is not nil, it is called first, on the thread that starts the child: the child
// inherits the thread's cores and network. An error of before is returned, and nothing is started.
//
// Linux kills the child when the *thread* that started it ends. So a goroutine keeps that thread for itself until the
// child has ended. If before may have changed the thread, the thread ends then, too.
func Start(cmd *exec.Cmd, before func() error) (*Process, error) {
	p := &Process{Cmd: cmd, Exited: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = &p.Stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &p.Stderr
	}
	if cmd.WaitDelay == 0 {
		cmd.WaitDelay = pipesAfterEnd
	}
	dieWithParent(cmd)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		var err error
		if before != nil {
			err = before()
		} else {
			defer runtime.UnlockOSThread() // others may use the thread; if it ended, what they had started on it would end
		}
		if err == nil {
			err = cmd.Start()
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // ProcessState says how it ended
			close(p.Exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Kill ends the process as a crash would, and waits until it has ended.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill() // the only error: it has ended already
	<-p.Exited
}

// Output keeps what is written to it. It may be read at any time. Its zero value is empty.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write keeps p.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String is all that was written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
