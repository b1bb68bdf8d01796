"""asyncio on virtual time, for parts that are asyncio inside."""
