import pino from 'pino';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import type { Compressor } from '../../src/compression/compressor.ts';
import { boot, type Daemon } from '../../src/daemon/boot.ts';
import type { BootOptions } from '../../src/daemon/open-core.ts';
import type { Random } from '../../src/ids.ts';
import type { Subscriptions } from '../../src/providers/subscriptions.ts';
import { acquireLock } from '../../src/store/database/lock.ts';
import {
  openConnection,
  type RawConnection,
  type RawResponse,
  type RequestParts,
  request,
  requestBytes,
} from './client.ts';
import { type HomeOptions, prepareHome, requestsIn, type TestHome, until } from './home.ts';
import { tmpHome } from './tmp-home.ts';
import { startUpstream, type Upstream } from './upstream.ts';

export { requestsIn, until };

export interface GatewayOptions extends Omit<HomeOptions, 'upstreamUrl' | 'now'> {
  upstream?: Upstream;
  env?: Record<string, string>;
  clock?: Clock;
  random?: Random;
  compressor?: Compressor;
  subscriptions?: Subscriptions;
  openTeam?: BootOptions['openTeam'];
  /** Gives the commands in a message the name that gw is run by. */
  pasteable?: (text: string) => string;
  /** A home that is there already. */
  home?: string;
  /** The errors that it may log, by their message; none if left out. */
  mayLog?: RegExp;
  /** Jobs of providers run on when it stops. */
  leavesHolds?: boolean;
  /** The test destroys the database. */
  losesDatabase?: boolean;
  /** Takes what has to be undone; a suite's `beforeAll` passes its own. */
  whenDone?: (undo: () => Promise<void>) => void;
}

/** A daemon on a port of its own between a test and a scripted upstream, and the state that it works on. */
export interface TestGateway extends TestHome {
  /** The base URL that a client is given. */
  url: string;
  /** Without `/v1`. */
  origin: string;
  upstream: Upstream;
  daemon: Daemon;
  /** The lines that were logged. */
  logged: Record<string, unknown>[];
  /** Sends a chat completion with the project's key. */
  post(body: unknown, parts?: RequestParts): Promise<RawResponse>;
  /** Opens a connection and sends a chat completion on it. */
  open(body: unknown, parts?: RequestParts): Promise<RawConnection>;
  get(path: string, headers?: Record<string, string>): Promise<RawResponse>;
  /** Waits until the settlements of all ended answers are committed. */
  committed(): Promise<void>;
  stop(): Promise<void>;
}

export const MODEL = 'mock/test-model';
export const PLAIN = { model: MODEL, messages: [{ role: 'user' as const, content: 'Hi' }] };
/** A request whose tool result, the third message, the optimizer shortens. */
export const COMPRESSIBLE = {
  model: MODEL,
  messages: [
    { role: 'user' as const, content: 'List the items.' },
    {
      role: 'assistant' as const,
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function' as const, function: { name: 'list', arguments: '{}' } }],
    },
    {
      role: 'tool' as const,
      tool_call_id: 'call_1',
      content: JSON.stringify(
        Array.from({ length: 200 }, (_, id) => ({
          id,
          name: `item ${id}`,
          state: 'active',
          owner: 'team-a',
        })),
      ),
    },
    { role: 'user' as const, content: 'How many are there?' },
  ],
};
export const STREAM = { ...PLAIN, stream: true as const };

/** As `startGateway`, in a home with one project: for what differs there, and for lists of all that gw has. */
export const startAlone = (options: GatewayOptions = {}) => startGateway({ ...options, alone: true });

/**
 * Boots the real daemon, in a fresh home if none is named. When the test is over it has to stop without an open hold
 * and without a logged error.
 */
export async function startGateway(options: GatewayOptions = {}): Promise<TestGateway> {
  const { env = {}, clock, random, compressor, whenDone = onTestFinished } = options;
  const upstream = options.upstream ?? (await startUpstream());
  const home = await prepareHome(options.home ?? tmpHome(whenDone), {
    ...options,
    upstreamUrl: upstream.url,
    ...(clock ? { now: () => clock.now() } : {}),
  });
  const { paths, key } = home;
  const lock = acquireLock(paths.lock);
  if (!lock) throw new Error(`${paths.lock} is held`);
  const logged: Record<string, unknown>[] = [];
  const log = pino({ level: 'debug', base: null }, { write: (line) => void logged.push(JSON.parse(line)) });
  const injected = {
    ...(clock ? { clock } : {}),
    ...(random ? { random } : {}),
    ...(compressor ? { compressor } : {}),
    pasteable: options.pasteable,
    subscriptions: options.subscriptions,
    openTeam: options.openTeam,
  };
  const booted = await boot({ paths, env, flags: { port: 0 }, log, ...injected });
  let daemonStops: Promise<void> | undefined;
  const daemon: Daemon = {
    ...booted,
    // A test may stop it before the gateway does.
    stop(how) {
      daemonStops ??= booted.stop(how);
      return daemonStops;
    },
  };
  const origin = `http://127.0.0.1:${daemon.port}`;
  const url = `${origin}/v1`;
  const withKey = (parts: RequestParts, body: unknown): RequestParts => ({
    ...parts,
    body,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...parts.headers },
  });

  async function stop(): Promise<void> {
    await daemon.stop({ graceMs: 0 });
    const left = options.losesDatabase || options.leavesHolds ? 0 : home.holds();
    home.db.close();
    lock?.release();
    if (!options.upstream) await upstream.close();
    const faults = logged.filter(
      ({ level, msg }) => Number(level) >= 50 && !options.mayLog?.test(String(msg)),
    );
    if (faults.length > 0) throw new Error(`the daemon logged ${JSON.stringify(faults)}`);
    if (left > 0) throw new Error(`${left} holds were left open`);
  }
  let stopping: Promise<void> | undefined;
  const stopOnce = () => {
    stopping ??= stop();
    return stopping;
  };
  whenDone(stopOnce);

  const get = (path: string, headers: RequestParts['headers'] = {}) =>
    request(origin, { method: 'GET', path, headers: { authorization: `Bearer ${key}`, ...headers } });
  /** A settlement is committed 2 ms after its answer; a report waits for it. */
  const committed = async () => {
    if (!stopping) await get('/v1/requests/none').catch(() => undefined);
  };

  return {
    ...home,
    async records() {
      await committed();
      return home.records();
    },
    async settled(requests) {
      await until(async () => {
        await committed();
        return home.holds() === 0 && requestsIn(await home.records()) >= requests;
      });
      return home.records();
    },
    committed,
    url,
    origin,
    upstream,
    daemon,
    logged,
    post: (body, parts = {}) => request(`${url}/chat/completions`, withKey(parts, body)),
    async open(body, parts = {}) {
      const connection = await openConnection(url);
      await connection.send(requestBytes(`${url}/chat/completions`, withKey(parts, body)));
      return connection;
    },
    get,
    stop: stopOnce,
  };
}
