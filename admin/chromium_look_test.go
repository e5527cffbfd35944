package admin

import (
	"bytes"
	goflag "flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	played "layover/verify/long"
)

var (
	pictures      = goflag.String("page.pictures", "pictures", "directory for the pictures of the page in every state; git ignores the usual one")
	drawDocuments = goflag.Bool("page.documents", false, "make the pictures of the page in docs/images anew")
)

// The colours of the chart's bars, as page.css has them.
var (
	barInLight = color.NRGBA{0x25, 0x63, 0xeb, 0xff}
	barInDark  = color.NRGBA{0x60, 0xa5, 0xfa, 0xff}
)

// checkWidth: nothing is wider than the screen, and no text is cut off or covers another.
func checkWidth(t *testing.T, p *tab, width int) {
	t.Helper()
	var wide []string
	p.eval(t, `(() => {
		const wide = [];
		const what = (e) => e.localName + "." + e.className + " " + e.textContent.slice(0, 50).trim();
		if (document.documentElement.scrollWidth > innerWidth) wide.push("the page has " + document.documentElement.scrollWidth);
		for (const e of document.querySelectorAll("#live *:not(svg *):not(.heard *)")) {
			const box = e.getBoundingClientRect();
			if (e.closest("thead") && getComputedStyle(e.closest("thead")).position === "absolute") continue;
			if (box.right > innerWidth + 0.5 || box.left < -0.5) wide.push(what(e) + " reaches from " + box.left + " to " + box.right);
			if (e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0) wide.push(what(e) + " is cut off");
		}
		return wide;
	})()`, &wide)
	for _, e := range wide {
		t.Errorf("at %d pixels: %s", width, e)
	}
}

// checkContrast: the least contrast of a text and its background is what WCAG 2.2 asks for.
func checkContrast(t *testing.T, p *tab) {
	t.Helper()
	var faint []string
	p.eval(t, `(() => {
		const rgb = (text) => text.match(/[\d.]+/g).map(Number);
		const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
			.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
		const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0) return c; } return [255, 255, 255]; };
		const faint = new Set(), texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		for (let text; text = texts.nextNode();) {
			const e = text.parentElement;
			if (!text.data.trim() || !e.checkVisibility() || e.localName === "script") continue;
			const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))];
			const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
			if (!(ratio >= 4.5)) faint.add(ratio.toFixed(2) + ": " + text.data.trim().slice(0, 50));
		}
		return [...faint];
	})()`, &faint)
	for _, text := range faint {
		t.Errorf("contrast %s", text)
	}
}

// look is a way to look at the page.
type screen struct {
	name  string
	width int
	dark  bool
	bar   color.NRGBA
}

func screens() []screen {
	return []screen{{"wide-light", 1280, false, barInLight}, {"wide-dark", 1280, true, barInDark}, {"narrow-light", 360, false, barInLight}, {"narrow-dark", 360, true, barInDark}}
}

// TestChromiumDrawsThePage takes a picture of each state on a desk and on a phone, by day
// and at night. It keeps the pictures: after a change of the page, somebody has to look at them.
func TestChromiumDrawsThePage(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	for name, s := range states() {
		for i, is := range screens() {
			if !played.Asked() && (name != "green" || i%3 > 0) { // wide and light, narrow and dark
				continue
			}
			t.Run(name+" "+is.name, func(t *testing.T) {
				tab := showState(t, b, s, is)
				data := tab.picture(t, is.width, 12_000)
				keep(t, name+"-"+is.name, data)
				checkWidth(t, tab, is.width)
				checkContrast(t, tab)
				checkColours(t, data, is, name != "kafka-gone")
				if said := tab.complained(); said != "" {
					t.Errorf("the browser complains: %s", said)
				}
			})
		}
	}
}

// keep puts a picture where somebody looks at it.
func keep(t *testing.T, name string, data []byte) {
	t.Helper()
	err := os.MkdirAll(*pictures, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(*pictures, name+".png"), data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// showState opens the page in a state, after the script has refreshed it once.
func showState(t *testing.T, b *browser, s state, is screen) *tab {
	t.Helper()
	f := openFront(t, s.now, "")
	remember(f.admin, s)
	tab := b.open(t, is.width, is.dark)
	tab.visit(t, f.URL+"/status")
	tab.refresh(t)
	return tab
}

// TestEverySceneFitsAPhone: those of other tests as well, with all that may be long.
func TestEverySceneFitsAPhone(t *testing.T) {
	played.Only(t)
	b := openBrowser(t)
	for name, s := range scenes() {
		t.Run(name, func(t *testing.T) {
			if name != "ugly" {
				played.Only(t)
			}
			tab := b.open(t, 360, true)
			tab.visit(t, openFront(t, s, "").URL+"/status")
			tab.eval(t, `for (const e of document.querySelectorAll("details")) e.open = true`, nil)
			checkWidth(t, tab, 360)
			checkContrast(t, tab)
		})
	}
}

// TestPicturesOfTheDocuments makes those that README and documents show, with
// go test ./admin -run TestPicturesOfTheDocuments -page.documents, and holds that there are any.
func TestPicturesOfTheDocuments(t *testing.T) {
	const dir = "../docs/images"
	shown := map[string]string{"status": "green", "status-dead-letters": "dead-letters"}
	for file := range shown {
		if _, err := os.Stat(filepath.Join(dir, file+".png")); err != nil && !*drawDocuments {
			t.Error(err)
		}
	}
	if !*drawDocuments {
		return
	}
	b := openBrowser(t)
	for file, name := range shown {
		tab := showState(t, b, states()[name], screens()[0])
		var end int // of the last section that is shown whole
		tab.eval(t, "Math.max(...[...document.querySelectorAll('section')].map((e) => Math.ceil(e.getBoundingClientRect().bottom) + 16).filter((y) => 1300 >= y))", &end)
		if err := os.WriteFile(filepath.Join(dir, file+".png"), small(t, tab.picture(t, 1280, end)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// small packs a picture into a palette of its most frequent colours. Text has shades that
// nobody misses.
func small(t *testing.T, data []byte) []byte {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	counts, size := make(map[color.Color]int), picture.Bounds()
	for y := range size.Max.Y {
		for x := range size.Max.X {
			counts[picture.At(x, y)]++
		}
	}
	palette := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int { return counts[b] - counts[a] })
	packed := image.NewPaletted(size, palette[:min(len(palette), 64)])
	draw.Draw(packed, size, picture, image.Point{}, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, packed); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// checkColours: the corner is background, and the bars are there where there is
// something that they stand for.
func checkColours(t *testing.T, data []byte, is screen, bars bool) {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if grey := color.GrayModel.Convert(picture.At(2, 2)).(color.Gray); (grey.Y < 64) != is.dark || is.dark == (grey.Y > 192) {
		t.Errorf("dark is %v, and the background's brightness %d of 255", is.dark, grey.Y)
	}
	size, painted := picture.Bounds().Size(), 0
	for y := range size.Y {
		for x := range size.X {
			if color.NRGBAModel.Convert(picture.At(x, y)) == is.bar {
				painted++
			}
		}
	}
	// The longest of the bars is at least an eighth as wide as the page, and 10 high.
	if bars && painted < 10*size.X/8 || size.X != is.width {
		t.Errorf("%d pixels of %v, bars expected: %v; the picture has %v", painted, is.bar, bars, size)
	}
}
