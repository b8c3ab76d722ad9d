package model

import "github.com/loadctl/loadctl/pacer"

// Leave is lua/leave.lua.
func (b *Budget) Leave(now int64, worker, incarnation, state string) bool {
	b.tick(now)
	m := b.Members[worker]
	if m == nil || m.Incarnation != incarnation {
		return false
	}
	if b.Phase == "running" || b.Phase == "paused" {
		b.settle(0)
		b.store()
	}
	if m.present {
		b.drop(worker, m, state)
		b.store()
	} else if m.State == "lost" {
		m.State = state
	}
	return true
}

// Command is lua/command.lua: kind is start, set-rate (with pieces), pause, resume, stop or touch. It returns the status and t0.
func (b *Budget) Command(now int64, id, kind string, pieces []pacer.Piece) (string, int64) {
	b.tick(now)
	if status := b.commands[id]; status != "" {
		return status, 0
	}
	if b.Phase == "running" || b.Phase == "paused" {
		b.settle(0)
		b.heard = b.now
		b.store()
	}
	if kind == "touch" {
		return "SAME", b.now
	}
	if b.Phase == "ended" || b.Phase == "stopped" && kind != "stop" {
		return "ENDED", b.Ended
	}
	ahead := int64(lead)
	for _, m := range b.Members {
		if m.State == "active" {
			ahead = max(ahead, m.RTT+5000)
		}
	}
	t0 := max(b.now+ahead, b.cutAt+1, b.Started)
	if b.opts.Without.Prompt {
		t0 = max(t0, b.grantFrom)
	}
	if b.Phase == "waiting" && kind == "resume" && b.grantFrom > 0 && b.opts.Min == 0 {
		kind = "start"
	}
	if b.Phase == "waiting" && (kind == "pause" || kind == "resume") {
		return "WAITING", 0
	}
	status := "SAME"
	if b.act(kind, t0, pieces) {
		status = "OK"
		b.renewed = 1 << 53 // whatever was forgotten before this
		b.version++
	}
	b.commands[id] = status
	b.store()
	return status, t0
}

func (b *Budget) act(kind string, t0 int64, pieces []pacer.Piece) bool {
	switch kind {
	case "start":
		if b.Phase != "waiting" || b.opts.Min == 1 {
			return false
		}
		b.opts.Min = 1
		return true
	case "set-rate":
		b.setRate(t0, pieces)
		return true
	case "pause":
		if b.Phase != "running" {
			return false
		}
		g, c := b.cut(t0)
		b.rest = remainder(g, t0)
		b.restC, b.piece, b.pausedAt, b.Phase = c, g.Piece, t0, "paused"
		return true
	case "resume":
		if b.Phase != "paused" {
			return false
		}
		if b.stop > b.pausedAt {
			b.stop += t0 - b.pausedAt
		}
		if b.stood < 0 {
			b.stood = -1
		} else {
			b.stood += t0 - b.pausedAt
		}
		b.cutAt, b.Phase = t0, "running"
		b.resume(b.rest, t0, b.restC, b.piece)
		return true
	default: // stop
		if b.Phase == "stopped" {
			return false
		}
		b.halt(t0)
		return true
	}
}

func (b *Budget) setRate(t0 int64, pieces []pacer.Piece) {
	b.opts.Pieces, b.opts.Loop, b.stood = pieces, false, -1
	switch b.Phase {
	case "waiting":
		b.piece = 0
	case "paused":
		b.rest, b.piece, b.stood = pieces[0], 1, -2
	default:
		low, recalls, revoked := b.low(), b.Recalls, b.revoked
		_, c := b.cut(t0)
		b.resume(pieces[0], t0, c, 1)
		if b.now+b.Reach < b.grantFrom && b.low() >= low {
			b.Recalls, b.revoked = recalls, revoked
		}
	}
}
