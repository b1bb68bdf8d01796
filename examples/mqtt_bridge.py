"""A bridge between an MQTT broker and CAMCAST, in both directions.

::

    python examples/mqtt_bridge.py plant --broker 127.0.0.1:1883 --gateway ADDRESS

MQTT's ``plant/roof/celsius`` is ``.plant.roof.celsius`` here. An event of one side is published on
the other, and not back again: MQTT 5 leaves out what this client itself publishes (noLocal), and a
subscription here what this process does (own=False). Retained messages and QoS end at the bridge.
Needs paho-mqtt.
"""

import argparse
import asyncio
import contextlib
import sys

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.subscribeoptions import SubscribeOptions

from camcast import CommunityManager, Received, Topic, TopicError


async def bridge(prefix: str, broker: str, gateways: list[str]) -> None:
    """Carry events over, until the task is cancelled."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue(4096)

    ready = asyncio.Event()

    def take(name: str, payload: bytes) -> None:
        if not arrived.full():  # the broker is faster than we: the rest is dropped, as at QoS 0
            arrived.put_nowait((name, payload))

    # paho calls these in a thread of its own.
    def on_connect(client: mqtt.Client, *_: object) -> None:
        client.subscribe(f"{prefix}/#", options=SubscribeOptions(qos=0, noLocal=True))

    def on_subscribe(*_: object) -> None:
        loop.call_soon_threadsafe(ready.set)

    def on_message(_client: mqtt.Client, _data: object, message: mqtt.MQTTMessage) -> None:
        loop.call_soon_threadsafe(take, message.topic, bytes(message.payload))

    client = mqtt.Client(CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
    client.on_connect, client.on_subscribe = on_connect, on_subscribe
    client.on_message = on_message
    host, _, port = broker.rpartition(":")
    client.connect(host, int(port))
    client.loop_start()
    try:
        async with CommunityManager(gateways=gateways) as manager:
            above = await manager.join(f".{prefix}")
            await ready.wait()
            print(f"{prefix}/# is .{prefix} at {manager.address}", flush=True)
            async with asyncio.TaskGroup() as both:
                both.create_task(from_mqtt(manager, arrived))
                async for event in above.subscribe(own=False):
                    if isinstance(event, Received):
                        client.publish(event.topic.name[1:].replace(".", "/"), event.payload)
    finally:
        client.loop_stop()
        client.disconnect()


async def from_mqtt(manager: CommunityManager, arrived: "asyncio.Queue[tuple[str, bytes]]") -> None:
    """Publish what comes from MQTT, in the community of its topic."""
    while True:
        name, payload = await arrived.get()
        try:
            topic = Topic.parse("." + name.replace("/", "."))
        except TopicError as error:  # MQTT allows names that we do not
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        await (await manager.join(topic)).publish(payload)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prefix", help="the first level of the topics, on both sides")
    parser.add_argument("--broker", default="127.0.0.1:1883", metavar="HOST:PORT")
    parser.add_argument("--gateway", action="append", default=[])
    given = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(bridge(given.prefix, given.broker, given.gateway))


main()
