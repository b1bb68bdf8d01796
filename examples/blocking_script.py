"""A script without asyncio: collect readings in one thread, publish them in two others."""

import threading

from camcast import Received
from camcast.app import blocking

READINGS = 3  # by each sensor


def measure(name: str, gateway: str) -> None:
    """Publish some readings of one sensor, from a manager of its own."""
    with blocking.CommunityManager(gateways=[gateway]) as manager:
        sensor = manager.join(f".house.{name}")
        sensor.ready(min_peers=0, min_links=1)
        for number in range(READINGS):
            sensor.publish(f"{name} {20 + number} degrees".encode())


def main() -> None:
    """Run the sensors, and print what the house hears."""
    with blocking.CommunityManager() as manager:
        events = manager.join(".house").subscribe()
        sensors = [
            threading.Thread(target=measure, args=(name, manager.address))
            for name in ("kitchen", "cellar")
        ]
        for sensor in sensors:
            sensor.start()
        for _ in range(READINGS * len(sensors)):
            event = next(events)
            if isinstance(event, Received):
                print(f"{event.topic}: {event.payload!r}")
        for sensor in sensors:
            sensor.join()
        print("all sensors have left")


main()
