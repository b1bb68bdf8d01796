// A worker of a fleet with nodes of js-libp2p's gossipsub: the twin of benchmarks/fleet_worker.py.
//
// Orders come as lines of JSON, [command, argument]; each is answered by a line. Nodes listen on
// the loopback, speak in the clear and do not sign, as the others do; each dials DIALS earlier
// ones, and the mesh is gossipsub's own (D = 6).

import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { gossipsub } from '@libp2p/gossipsub'
import { identify } from '@libp2p/identify'
import { plaintext } from '@libp2p/plaintext'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { multiaddr } from '@multiformats/multiaddr'
import { createLibp2p } from 'libp2p'

// libp2p 3 is for Node 22, and of all that is new there it needs only this.
Promise.withResolvers ??= function () {
  const made = {}
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }))
  return made
}

const TOPIC = 'bench'
const STAMP_BYTES = 20
const DIALS = 8 // chosen: more than D, so that every mesh can fill up
const QUIET_SECONDS = 3.0 // as in fleet_worker.py, all three
const DUPLICATES_SECONDS = 0.3
const POLL_SECONDS = 0.05
const MESH_MIN = 2 // chosen: D_lo is 4, but who was pruned stays below for a minute (its back-off)
const SETTLE_SECONDS = 5 // chosen: five heartbeats
const SETTLE_SECONDS_MAX = 60 // chosen: 50 nodes need ten on an idle machine

const nodes = []
const decoder = new TextDecoder()
let fleet = 0
let expected = 0
let last = 0
let latencies = []
let cpuBefore = 0
const idleMemory = memoryBytes()

// The same clock as Python's time.monotonic().
const now = () => Number(process.hrtime.bigint()) / 1e9
const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000))
const cpuSeconds = () => {
  const used = process.cpuUsage()
  return (used.user + used.system) / 1e6
}
function memoryBytes () {
  return Number(readFileSync('/proc/self/statm', 'ascii').split(' ')[1]) * 4096
}

function onMessage (event) {
  const at = now()
  latencies.push(at - Number(decoder.decode(event.detail.data.subarray(0, STAMP_BYTES))))
  last = at
}

// The same sequence for the same seed: any generator will do.
function dice (seed) {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const commands = {
  async start ([share, known]) {
    fleet = share.fleet
    const addresses = [...known]
    const draw = dice(share.seed + share.first)
    for (let number = 0; number < share.nodes; number++) {
      const node = await createLibp2p({
        addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] },
        transports: [tcp()],
        connectionEncrypters: [plaintext()],
        streamMuxers: [yamux()],
        connectionManager: { inboundConnectionThreshold: Infinity },
        services: {
          identify: identify(),
          pubsub: gossipsub({
            globalSignaturePolicy: 'StrictNoSign',
            emitSelf: true,
            // Else more than ten peers at one address are taken for an attack, and left out.
            scoreParams: { IPColocationFactorWeight: 0 }
          })
        }
      })
      node.services.pubsub.addEventListener('message', onMessage)
      node.services.pubsub.subscribe(TOPIC)
      nodes.push(node)
      const others = [...addresses]
      for (let dial = 0; dial < DIALS && others.length > 0; dial++) {
        const [address] = others.splice(draw(others.length), 1)
        await node.dial(multiaddr(address))
      }
      addresses.push(node.getMultiaddrs()[0].toString())
    }
    return addresses.slice(known.length)
  },

  // Until the meshes are as gossipsub wants them, which takes some of its heartbeats.
  async settle () {
    const deadline = now() + SETTLE_SECONDS_MAX
    const wanted = Math.min(MESH_MIN, fleet - 1)
    const meshes = () => nodes.map((node) => node.services.pubsub.getMeshPeers(TOPIC).length)
    while (Math.min(...meshes()) < wanted) {
      if (now() > deadline) throw new Error(`the meshes do not form: ${meshes()}`)
      await sleep(0.2)
    }
    await sleep(SETTLE_SECONDS)
    return null
  },

  async reset (events) {
    expected = events * nodes.length
    last = 0
    latencies = []
    cpuBefore = cpuSeconds()
    return null
  },

  async publish ([events, size, rate]) {
    const started = now()
    for (let number = 0; number < events; number++) {
      if (rate !== null) await sleep(Math.max(0, started + number / rate - now()))
      const payload = Buffer.alloc(size, '.')
      payload.write(now().toFixed(9).padStart(STAMP_BYTES, '0'))
      await nodes[0].services.pubsub.publish(TOPIC, payload)
    }
    return commands.receive()
  },

  async receive () {
    let delivered = -1
    let quietSince = now()
    let cpu = 0
    for (;;) {
      if (latencies.length !== delivered) {
        delivered = latencies.length
        quietSince = now()
        cpu = cpuSeconds()
      }
      const patience = delivered >= expected ? DUPLICATES_SECONDS : QUIET_SECONDS
      if (now() - quietSince >= patience) break
      await sleep(POLL_SECONDS)
    }
    return { latencies, last, cpu: cpu - cpuBefore, counts: {} }
  },

  async facts () {
    return { memory: memoryBytes() - idleMemory, facts: {} }
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const [command, argument] = JSON.parse(line)
  if (command === 'stop') process.exit(0)
  process.stdout.write(JSON.stringify(await commands[command](argument)) + '\n')
}
