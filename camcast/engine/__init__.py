"""The engine: one process of CAMCAST as a synchronous state machine, without clocks and sockets.

How an event travels
--------------------
A frame arrives at a socket (`camcast.live.wire.zmtp`). The transport counts it and hands it to the
runner (`camcast.live.runner`), which gives it to the node with the time (`camcast.engine.node`).

1.  The *intake* (`camcast.engine.intake`) reads the heads of the records in the frame
    (`camcast.vocabulary.wire`). It finds the group, and what is known of the stream
    (`camcast.engine.known_streams`): most copies are duplicates, and end here.
2.  Only a batch with a new event is decoded (`camcast.vocabulary.batches`). Where events are
    signed, `camcast.engine.guard.signing` verifies it now. Its events then count as known.
3.  *Repair* keeps the batch for others and adds it to the tally of the stream
    (`camcast.engine.repair`): what is missing below it will be asked for.
4.  The group's *dissemination* (`camcast.protocols.camcast`) sends the event upward, with some
    probability, to super-processes (`camcast.engine.super_topic_table`), and spreads it to random
    members of the topic table, which a membership keeps (`membership.scamp`). What it sends goes
    through an event outlet (`camcast.engine.event_outlet`) into the *outbox*
    (`camcast.vocabulary.outbox`).
5.  The intake leaves the event in the outbox for the application.

The node has decided everything and done nothing. The runner drains the outbox: records go to the
output pipes (`camcast.live.wire.pipes`), and batches to the subscriptions (`camcast.inbox`). The
virtual network (`camcast.virtual.network`) drains the same outbox in its own way, so that what is
measured there is what ships. A published event begins at the *publisher*
(`camcast.engine.publisher`) and goes on with the intake's `publish`.

Control records, by which the parts of two processes talk to each other, take the way of the frame
to the intake; from there a table in the node leads to the part that each kind is for.

In what order to read
---------------------
1.  README.md: what CAMCAST is for.
2.  `camcast.vocabulary.topics`: topics, and the groups that they name.
3.  `camcast.vocabulary.batches`: events of one stream, as they travel.
4.  `camcast.vocabulary.outbox`: everything that an engine can wish for.
5.  `camcast.doors.membership`: what a membership promises; the door to read first.
6.  examples/full_view: the smallest membership that keeps the promises.
7.  `camcast.engine.node`: the inputs of a process, and the part that takes each.
8.  `camcast.engine.intake`: the hot loop.
9.  `camcast.protocols.camcast`: gossip, and upward messages.
10. `membership.scamp`: the topic tables of the paper, with what keeps them alive.
11. `camcast.engine.liveness`: how a process finds out which peers live.
12. `camcast.live.runner`: the real clock and the real pipes.
"""
