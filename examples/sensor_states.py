"""The state of sensors for whoever comes late: the last value of each key.

Each sensor publishes under its name as the key. All members keep the last value of each key, also
when the sensor has gone: a display that starts later has the state of all sensors at once, and then
each change. A sensor that is taken away deletes its key.
"""

import asyncio

from camcast import CommunityManager, Received

TOPIC = ".plant.celsius"


async def main() -> None:
    """Let sensors measure and leave, and start a display afterwards."""
    async with CommunityManager() as hall:
        here = await hall.join(TOPIC)
        async with CommunityManager(gateways=[hall.address]) as sensors:
            plant = await sensors.join(TOPIC)
            await plant.ready()
            for site, celsius in (("roof", 20.5), ("cellar", 11.0), ("yard", 3.0), ("roof", 21.5)):
                await plant.publish(f"{site} {celsius}".encode(), key=site.encode())
            # Two other members say that they hold it; here there is one.
            await plant.publish(None, key=b"yard", confirmed_by=1)
        async with CommunityManager(gateways=[hall.address]) as display:
            there = await display.join(TOPIC)
            states: dict[bytes, str] = {}
            subscription = there.subscribe(latest=True)
            async for event in subscription:
                if not isinstance(event, Received) or event.key is None or event.deleted:
                    continue
                states[event.key] = event.payload.decode()
                print("state:", states[event.key])
                if states == {b"roof": "roof 21.5", b"cellar": "cellar 11.0"}:
                    await here.publish(b"cellar 12.5", key=b"cellar")
                elif states.get(b"cellar") == "cellar 12.5":
                    break
            print("known:", *sorted(key.decode() for key in there.latest))
            subscription.close()


asyncio.run(main())
