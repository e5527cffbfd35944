package journal

const skipHelp = `Usage: layover skip TOPIC/PARTITION@OFFSET [--execute] [--drop] [-o json]

Leaves out what a partition has stopped at, so that Layover goes on behind it.
/status and the log say where that is.

  a batch that cannot be read, or takes too much decompressed: all of it, with
  one dead letter that stands for it and says where it is
  anything else: the record at that offset alone, which goes to the dead-letter
  topic with its key, value and headers, and the reason skipped

What is finished stays finished. It only says what it would do, unless there is

  --execute        do it. All Layover processes of the group have to be stopped.

  --drop           write no dead letter, as with LAYOVER_ON_INVALID=drop
  -o json          print an object
  --env-file FILE  read settings from FILE too; may be repeated, the last wins,
                   and the environment over all

Settings are the environment variables of run, and have to be the same: brokers,
ingress topics, group, LAYOVER_DLQ_TOPIC, LAYOVER_ON_INVALID,
LAYOVER_MAX_PARKED_BYTES.

  $ layover skip delayed/0@1041
  $ layover skip delayed/0@1041 --execute

It takes the ACLs Read and Describe on the ingress topic, Describe on the group;
where there is a journal Describe and Read on it; --execute also Read on the
group and Write on the dead-letter topic.

Exit code: 0 if that was done, or would be; 1 if not, or not while the group has
members; 2 if the command line or the environment is wrong.
`
