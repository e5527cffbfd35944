package kafkatest

import (
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestALogGoesOnWhereItEndedWhenBrokersStartAgain, also where nothing is left of it.
func TestALogGoesOnWhereItEndedWhenBrokersStartAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := StartVirtualOnDisk(t, 1, kfake.SeedTopics(3, "log"))
		write := func(partition int32, want int64) {
			client := c.NewClient(kgo.RecordPartitioner(kgo.ManualPartitioner()))
			defer client.Close()
			k, err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "log", Partition: partition, Value: []byte("x")}).First()
			if err != nil || k.Offset != want {
				t.Errorf("partition %d: at %d, %v, want %d", partition, k.Offset, err, want)
			}
		}
		for n := range int64(3) {
			write(0, n)
			write(1, n)
		}
		c.DeleteRecords("log", 0, 3)
		c.DeleteRecords("log", 1, 2)
		for n := range int64(2) { // a log that was empty before as well
			c.Restart(nil)
			for p, want := range [][2]int64{{3, 3}, {2, 3}, {0, 0}} {
				if i := c.Broker.PartitionInfo("log", int32(p)); i.LogStartOffset != want[0] || i.HighWatermark != want[1] {
					t.Errorf("start %d: partition %d has %d to %d, want %v", n, p, i.LogStartOffset, i.HighWatermark, want)
				}
			}
		}
		write(0, 3)
		write(1, 3)
		write(2, 0)
		c.Restart(nil)
		write(0, 4)
		write(1, 4)
		write(2, 1)
	})
}
