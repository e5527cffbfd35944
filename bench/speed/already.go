package speed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"layover/bench/row"
)

const (
	partAlready = "already due"
	whatRate    = "rate"
	whatCPU     = "cpu"
	whatBytes   = "bytes"
	whatAgain   = "again"
	ofLoop      = 0.8 // of the records a second of a loop
)

func dueCase(size, partitions int) string {
	return fmt.Sprintf("%d B, partitions: %d", size, partitions)
}

// alreadyDue measures all sizes and numbers of partitions.
func (s *site) alreadyDue(ctx context.Context) error {
	for _, size := range slices.Sorted(maps.Keys(s.Due)) {
		for _, partitions := range s.Partitions {
			if err := s.alreadyCase(ctx, size, partitions); err != nil {
				return fmt.Errorf("%s: %w", dueCase(size, partitions), err)
			}
		}
	}
	return nil
}

// alreadyCase lets all ways read the same records.
func (s *site) alreadyCase(ctx context.Context, size, partitions int) (err error) {
	loaded, err := s.loaded(ctx, size, partitions)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, loaded.close(ctx)) }()
	var steps []step
	for _, w := range s.ways(product, stamped, plain, bare) {
		steps = append(steps, step{w.name, func(ctx context.Context) error {
			return s.copied(ctx, w, loaded, size, partitions, func(what, unit string, v float64) {
				s.add(partAlready, dueCase(size, partitions), w.name, what, unit, v)
			})
		}})
	}
	return s.inTurn(ctx, steps...)
}

// loaded is a scene with the records that are already due, to be read again and again.
func (s *site) loaded(ctx context.Context, size, partitions int) (*scene, error) {
	sc, err := s.newScene(ctx, way{kind: bare}, partitions, "")
	if err != nil {
		return nil, err
	}
	if err := sc.load(ctx, size, s.Due[size]); err != nil {
		return nil, errors.Join(err, sc.close(ctx))
	}
	return sc, nil
}

// load writes n records that are due at once.
func (s *scene) load(ctx context.Context, size, n int) error {
	snd, err := s.newSender(size)
	if err != nil {
		return err
	}
	defer snd.client.Close()
	for range n {
		snd.send(time.Now(), s.target, true)
	}
	return snd.flush(ctx)
}

// copied lets one way carry what is loaded, from its start until all is in the target, and tells its figures.
func (s *site) copied(ctx context.Context, w way, loaded *scene, size, partitions int, add func(what, unit string, v float64)) (err error) {
	sc, err := s.newScene(ctx, w, partitions, loaded.ingress)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sc.close(ctx)) }()
	n := s.Due[size]
	c, err := sc.start(ctx, w)
	if err != nil {
		return err
	}
	defer kill(c)
	from, err := ask(c)
	if err := errors.Join(err, sc.profile(c, w, fmt.Sprintf("due-%d-partitions-%d", size, partitions))); err != nil {
		return err
	}
	if sc.books.foreign {
		err = sc.load(ctx, size, n) // it runs already, so it reads while this is written
	} else {
		sc.books = loaded.books.again()
	}
	if err := errors.Join(err, sc.until(ctx, sc.target, n)); err != nil {
		return err
	}
	to, err := ask(c)
	if err := errors.Join(err, end(c), sc.audit(ctx)); err != nil {
		return err
	}
	a := sc.books.account(since(0))
	if err := sc.books.fault(a); err != nil {
		return err
	}
	span := time.Duration(max(a.last-a.first, 1)) * time.Millisecond
	add(whatRate, "records/s", float64(n)/span.Seconds())
	add(whatAgain, "records", float64(a.again))
	add(whatBytes, "B/record", float64(sc.books.bytes)/float64(n+a.again))
	if c != nil {
		add(whatCPU, "us/record", (to.CPU-from.CPU).Seconds()*1e6/float64(n))
	}
	return nil
}

// alreadyRows sets each way beside the loop that writes as much.
func (s *site) alreadyRows() (rows []row.Row) {
	for _, size := range slices.Sorted(maps.Keys(s.Due)) {
		for _, partitions := range s.Partitions {
			of := dueCase(size, partitions)
			against := map[kind]kind{product: stamped, plain: bare}
			for _, w := range s.ways(product, stamped, plain, bare) {
				rate, _ := s.get(partAlready, of, w.name, whatRate)
				bytes, _ := s.get(partAlready, of, w.name, whatBytes)
				again, _ := s.get(partAlready, of, w.name, whatAgain)
				cpu := ""
				if us, ok := s.get(partAlready, of, w.name, whatCPU); ok {
					cpu = fmt.Sprintf(", CPU %.2f us a record", us)
				}
				r := row.Plain(of+": "+w.name, "%.3f million/s%s, %.0f B a record, %.0f of %d again", rate/1e6, cpu, bytes, again, s.Due[size])
				if peer, ok := against[w.kind]; ok {
					beside := s.ways(peer)[0].name
					loop, _ := s.get(partAlready, of, beside, whatRate)
					r = r.Aim(rate >= ofLoop*loop, "%.1f of %s; it is %.2f", ofLoop, beside, rate/loop)
				}
				rows = append(rows, r)
			}
		}
	}
	return rows
}
