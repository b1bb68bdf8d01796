"""What ``--protocol-set`` takes for all systems of 002 and 003, where everybody is in one group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attrs import field, frozen, validators

from camcast.settings.baselines import interested_in

if TYPE_CHECKING:  # numpy is an extra
    from camcast.settings.setting import Setting


FAN_OUT_MAX: Final = 10**7  # chosen: as many processes as are simulated one by one


@frozen(kw_only=True)
class GroupOptions:
    """Whose event it is."""

    published_in: int = field(default=0, validator=validators.ge(0))


def interested(chosen: Setting, published_in: int) -> int:
    """Return how many processes want what is published in a community.

    Raises `SettingError` if there is no such community.
    """
    from camcast.settings.setting import SettingError

    communities = chosen.communities
    if published_in >= len(communities):
        raise SettingError(
            f"published in community {published_in}; there are {len(communities)}, from 0 on"
        )
    return sum(communities[at].size for at in interested_in(communities, published_in))
