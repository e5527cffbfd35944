package purgatory
import ("fmt";"os")
func (w *world) dbg(f string, a ...any) { if os.Getenv("DBG") != "" { fmt.Printf(f+"\n", a...) } }
