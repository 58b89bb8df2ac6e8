import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { AsyncQueue } from './async-queue.ts';
import { answer } from './chat-scripts.ts';
import { Exchange, type RecordedRequest } from './exchange.ts';
import { readHead } from './http-message.ts';
import { Inbox, PeerGone } from './inbox.ts';
import { modelList, type Script } from './scripts.ts';

export interface UpstreamOptions {
  /** Answers the requests for which no script was queued. */
  script?: Script;
  /** Answers `GET .../models`. */
  models?: Script;
}

/** A scripted provider on a real socket: its scripts decide every byte and every moment of an answer. */
export interface Upstream {
  /** The base URL to configure a provider with; it ends in `/v1`. */
  url: string;
  port: number;
  /** The requests in the order in which their heads came, without those for models. */
  requests: RecordedRequest[];
  modelRequests: RecordedRequest[];
  /** How many connections are open. */
  readonly connections: number;
  /** The next request once its body is whole; each call takes one, whether it came before or comes later. */
  nextRequest(): Promise<RecordedRequest>;
  /** Queues scripts, one for each request to come. */
  queue(...scripts: Script[]): void;
  /** Sets the script for requests that find the queue empty. */
  script(script: Script): void;
  /** Sets the script for `GET .../models`. */
  models(script: Script): void;
  /** Breaks off every connection; fails if a script failed for another reason than that its peer left. */
  close(): Promise<void>;
}

export async function startUpstream(options: UpstreamOptions = {}): Promise<Upstream> {
  const queued: Script[] = [];
  let other = options.script ?? answer('Hello from the upstream.');
  let models = options.models ?? modelList(['test-model']);
  const requests: RecordedRequest[] = [];
  const modelRequests: RecordedRequest[] = [];
  const arrivals = new AsyncQueue<Promise<RecordedRequest>>();
  const sockets = new Set<Socket>();
  const failures: unknown[] = [];
  let accepted = 0;

  const server = createServer({ noDelay: true }, async (socket) => {
    const connection = ++accepted;
    const inbox = new Inbox(socket);
    let exchange: Exchange | undefined;
    sockets.add(socket);
    socket.on('end', () => exchange?.peerLeft());
    socket.on('close', () => {
      sockets.delete(socket);
      exchange?.peerLeft();
    });
    while (socket.writable) {
      const head = await readHead(inbox).catch(() => undefined);
      if (!head) return;
      exchange = new Exchange(socket, inbox, head, connection);
      await run(exchange, record(exchange));
    }
  });

  function record({ request, body }: Exchange): Script {
    if (request.method === 'GET' && /\/models(\?|$)/.test(request.path)) {
      modelRequests.push(request);
      return models;
    }
    requests.push(request);
    const whole = body.then(() => request);
    // A request that breaks off matters only to a test that waits for it.
    whole.catch(() => {});
    arrivals.push(whole);
    return queued.shift() ?? other;
  }

  async function run(exchange: Exchange, script: Script): Promise<void> {
    try {
      await script(exchange);
      await exchange.body;
    } catch (error) {
      if (!(error instanceof PeerGone)) failures.push(error);
      exchange.reset();
    } finally {
      exchange.settle();
    }
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    port,
    requests,
    modelRequests,
    get connections() {
      return sockets.size;
    },
    nextRequest: async () => arrivals.next(),
    queue: (...scripts) => void queued.push(...scripts),
    script(script) {
      other = script;
    },
    models(script) {
      models = script;
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
      if (failures.length > 0) throw failures[0];
    },
  };
}

/** The base URL of a provider that refuses connections: its port was free a moment ago. */
export async function refusingUrl(): Promise<string> {
  const upstream = await startUpstream();
  await upstream.close();
  return upstream.url;
}
