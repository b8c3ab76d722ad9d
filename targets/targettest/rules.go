package targettest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/loadctl/loadctl/targets"
)

// rules are all of them. It is a function, because a variable could be changed.
func rules() []rule {
	return []rule{
		{"one request a call", once},
		{"bytes are counted", counts},
		{"the request stays as it is", unchanged},
		{"the answer stays as it is", stays},
		{"concurrent calls", concurrent},
		{"no more connections than places", bounded},
		{"a context that has ended", ended},
		{"ends with its context", ends},
		{"a late answer is not that of the next request", late},
		{"a connection that was cut", wasCut},
		{"garbage", talksGarbage},
		{"an endless answer", isEndless},
		{"nobody is there", refused},
		{"a server that is back", returns},
		{"close twice", twice},
		{"nothing after close", after},
		{"close frees the connections", frees},
	}
}

// some is how many requests tests send one after the other.
const some = 5

// once counts requests at the server.
func once(b *bench) error {
	before := b.Count()
	for range some {
		if _, err := b.send(b.request()); err != nil {
			return err
		}
	}
	return b.arrived(before, some)
}

// arrived says how many requests came to the server, if they are not so many. Those that come later are not waited for, as the
// answers have come.
func (b *bench) arrived(before, want int64) error {
	if b.soon(func() bool { return b.Count()-before >= want }); b.Count()-before != want {
		return fmt.Errorf("%d requests arrived for %d calls of Do", b.Count()-before, want)
	}
	return nil
}

// counts compares the bytes that a Sender says with those that the relay has passed on.
func counts(b *bench) error {
	for range some {
		r := b.request()
		out, in := b.relay.sent.Load(), b.relay.came.Load()
		a, err := b.send(r)
		if err != nil {
			return err
		}
		out, in = b.relay.sent.Load()-out, b.relay.came.Load()-in
		switch {
		case a.BytesOut <= 0 || a.BytesOut < int64(len(r.Body)) || a.BytesOut > out:
			return fmt.Errorf("BytesOut is %d, the body has %d bytes, and %d were sent", a.BytesOut, len(r.Body), out)
		case a.BytesIn < int64(len(a.Body)) || a.BytesIn > in || in > 0 && a.BytesIn == 0:
			return fmt.Errorf("BytesIn is %d, the answer has %d bytes, and %d came", a.BytesIn, len(a.Body), in)
		}
	}
	return nil
}

// unchanged compares a request with itself.
func unchanged(b *bench) error {
	r := b.request()
	before := r
	before.Body, before.Headers = slices.Clone(r.Body), slices.Clone(r.Headers)
	ctx, cancel := context.WithTimeout(context.Background(), b.patience)
	defer cancel()
	if _, err := b.do(ctx, r); err != nil {
		return err
	}
	if !bytes.Equal(before.Body, r.Body) || !reflect.DeepEqual(before.Headers, r.Headers) {
		return errors.New("Do changes the body or the headers of the request, which others share")
	}
	return nil
}

// stays compares an answer with itself after others have come.
func stays(b *bench) error {
	first, err := b.send(b.request())
	if err != nil {
		return err
	}
	before := slices.Clone(first.Body)
	for range some {
		if _, err := b.send(b.request()); err != nil {
			return err
		}
	}
	if !bytes.Equal(before, first.Body) {
		return errors.New("a later call changes the body of an answer")
	}
	return nil
}

// atOnce performs requests with as many goroutines as there are places.
func (b *bench) atOnce(each int) error {
	var all sync.WaitGroup
	errs := make(chan error, b.most)
	for range b.most {
		var mine []targets.Request
		for range each {
			mine = append(mine, b.request())
		}
		all.Go(func() {
			for _, r := range mine {
				if _, err := b.send(r); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}

func concurrent(b *bench) error {
	before := b.Count()
	if err := b.atOnce(25); err != nil {
		return err
	}
	return b.arrived(before, int64(25*b.most))
}

func bounded(b *bench) error {
	if err := b.atOnce(10); err != nil {
		return err
	}
	if most := b.relay.most.Load(); most > int64(b.most) {
		return fmt.Errorf("%d connections at a time for %d calls", most, b.most)
	}
	return nil
}

// ended is a call whose context has ended before.
func ended(b *bench) error {
	before := b.Count()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a, err := b.do(ctx, b.request())
	switch {
	case err != nil:
		return err
	case succeeded(a):
		return errors.New("a call whose context had ended says that it succeeded")
	}
	if _, err := b.send(b.request()); err != nil {
		return err
	}
	return b.arrived(before, 1)
}

// ends asks a server that does not answer, until the context ends: on a new connection, and on one that was used.
func ends(b *bench) error {
	for _, used := range []bool{false, true} {
		b.relay.play(pass)
		if used {
			if _, err := b.send(b.request()); err != nil {
				return err
			}
		}
		b.relay.play(silent)
		if err := b.fails(100*time.Millisecond, nil); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(context.Background())
		stop := time.AfterFunc(100*time.Millisecond, cancel)
		a, err := b.do(ctx, b.request())
		stop.Stop()
		cancel()
		if err == nil && succeeded(a) {
			err = errors.New("a call that was canceled says that it succeeded")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fails performs a request that must not succeed within so long, unless good knows that its answer is wrong; good may be nil.
func (b *bench) fails(limit time.Duration, good func(targets.Request, targets.Answer) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	r := b.request()
	a, err := b.do(ctx, r)
	switch {
	case err != nil:
		return err
	case succeeded(a) && (good == nil || good(r, a) == nil):
		return errors.New("a request without a right answer says that it succeeded")
	case int64(len(a.Body)) > bodyLimit+slack:
		return fmt.Errorf("the answer has %d bytes, and the limit is %d", len(a.Body), bodyLimit)
	}
	return nil
}

// slack is how much more than the limit a Sender may read, in bytes.
const slack = 1 << 20

// late lets an answer come when its request has timed out. It is not that of the next one.
func late(b *bench) error {
	before := b.Count()
	if _, err := b.send(b.request()); err != nil {
		return err
	}
	b.relay.play(held)
	if err := b.fails(100*time.Millisecond, nil); err != nil {
		return err
	}
	b.relay.play(pass)
	b.relay.release()
	for range some {
		if _, err := b.send(b.request()); err != nil {
			return err
		}
	}
	return b.arrived(before, some+2)
}

// misbehaves sends to a server that does, on a new connection and on one that was used, and then to a good one.
func (b *bench) misbehaves(m mode) error {
	var good func(targets.Request, targets.Answer) error
	if m == garbage {
		good = b.Good
	}
	for range 2 {
		b.relay.play(m)
		if err := b.fails(b.patience, good); err != nil {
			return err
		}
		b.relay.play(pass)
		if _, err := b.send(b.request()); err != nil {
			return fmt.Errorf("after a server that misbehaved: %w", err)
		}
	}
	return nil
}

func wasCut(b *bench) error { return b.misbehaves(cut) }

func talksGarbage(b *bench) error {
	err := b.misbehaves(garbage)
	if err != nil && b.Good == nil {
		return fmt.Errorf("%w; if the Sender cannot know which bytes are an answer, give Server.Good", err)
	}
	return err
}

// isEndless counts how much a Sender reads of an answer that does not end.
func isEndless(b *bench) error {
	if err := b.misbehaves(endless); err != nil {
		return err
	}
	if n := b.relay.came.Load(); n >= flood {
		return fmt.Errorf("Do has read %d bytes of an answer, and the limit is %d", n, bodyLimit)
	}
	return nil
}

func refused(b *bench) error {
	b.relay.listener.Close()
	return b.fails(b.patience, nil)
}

// returns lets a server close connections without requests: a Sender may fail once for each, and then opens new ones.
func returns(b *bench) error {
	if _, err := b.send(b.request()); err != nil {
		return err
	}
	b.relay.hangUp()
	var err error
	for range b.most + 1 {
		if _, err = b.send(b.request()); err == nil {
			return nil
		}
	}
	return fmt.Errorf("after the server has closed its connections: %w", err)
}

func twice(b *bench) error {
	if _, err := b.send(b.request()); err != nil {
		return err
	}
	return errors.Join(closing(b.wire.Shut), closing(b.wire.Shut))
}

func after(b *bench) error {
	if _, err := b.send(b.request()); err != nil {
		return err
	}
	if err := closing(b.wire.Shut); err != nil {
		return err
	}
	before := b.Count()
	if err := b.fails(b.patience, nil); err != nil {
		return fmt.Errorf("Do after Close has to send nothing, and to return an error such as net.ErrClosed: %w", err)
	}
	if n := b.Count() - before; n != 0 {
		return fmt.Errorf("%d requests arrived after Close", n)
	}
	return nil
}

func frees(b *bench) error {
	if err := b.atOnce(some); err != nil {
		return err
	}
	if err := closing(b.wire.Shut); err != nil {
		return err
	}
	if !b.soon(func() bool { return b.relay.open.Load() == 0 }) {
		return fmt.Errorf("%d connections are open after Close", b.relay.open.Load())
	}
	return nil
}
