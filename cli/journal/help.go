package journal

const help = `Usage: layover journal show    [--topic T] [--partition N] [--runs] [-o json]
       layover journal recover [--topic T] [--partition N] [--execute]
       layover journal reset   [--topic T] [--partition N] [--execute]

Shows, or mends, what is known to be finished. That is in the metadata of the
group's commits, and where a partition's does not fit there, in a journal: a
topic beside the ingress topic, named by LAYOVER_JOURNAL_TOPIC.

  show       prints every record of the journals, what the group's commits name
             of them, and what a restart would find
  recover    for partitions whose offset expired or was deleted: commits what
             the journal knows, so that Layover goes on from there; partitions
             with an offset are left alone
  reset      forgets what is finished: commits the offset that
             LAYOVER_START_OFFSET says (earliest or latest; none: commits
             nothing) and deletes the journal's records. With earliest all that
             the log has is delivered again; with latest nothing that is parked
             ever is.

recover and reset only say what they would do, unless there is

  --execute      do it. All Layover processes of the group have to be stopped.

  --topic T        only the journal of ingress topic T, not of all of them
  --partition N    only partition N
  --runs           show the finished offsets of each record, too
  -o json          show an object a line, of the types partition, record, total
                   and incarnation
  --env-file FILE  read settings from FILE too; may be repeated, the last wins,
                   and the environment over all

Settings are the environment variables of run, and have to be the same: brokers,
ingress topics, group, LAYOVER_JOURNAL_TOPIC, LAYOVER_START_OFFSET.

  $ layover journal show --topic delayed --partition 3
  $ layover journal recover
  $ layover journal recover --execute
  $ LAYOVER_START_OFFSET=latest layover journal reset --partition 3 --execute

It takes the ACLs Describe on the ingress topics, Describe and Read on the
journals, Describe on the group; --execute also Read on the group and on the
ingress topics, and reset Delete on the journals.

Exit code: 0 if that was done, 1 if something was not or could not be, 2 if the
command line or the environment is wrong.
`
