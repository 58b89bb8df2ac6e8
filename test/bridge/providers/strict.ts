import type { Json } from '../../../src/translation/json.ts';
import { parseObject } from '../../../src/wire/answer/events.ts';
import type { Script } from '../../support/scripts.ts';

/** An answer of a strict provider, in no API's words. */
export interface Reply {
  /** The number of turns with calls before it. */
  turn: number;
  model: string;
  reasoning: string;
  text: string;
  calls: { name: string; args: object }[];
  usage: { input: number; output: number };
}

/** One API of a strict provider: what it refuses, and how it answers. */
export interface StrictApi {
  path: string;
  /** What a path says, where the body doesn't. */
  callOf?(path: string): { model: string; stream: boolean } | undefined;
  /** Why the provider would refuse a request. */
  faultOf(body: Json): string | undefined;
  /** Turns with calls so far. */
  turnsOf(body: Json): number;
  toolsOf(body: Json): string[];
  resultsOf(body: Json): string[];
  plain(reply: Reply): Json;
  stream(reply: Reply): string | Buffer;
  /** Of a stream, if it is no list of events. */
  streamType?: string;
  error(message: string, status: number): Json;
}

/** Turns with calls in the loop that all providers ask for. */
export const TURNS = 6;

/** What the provider has seen and billed. */
export interface Seen {
  faults: string[];
  requests: Json[];
  billed: { input: number; output: number }[];
}

/** A provider that refuses what its document says the real one refuses, and asks for two tools in each of its turns. */
export function strictProvider(apis: readonly StrictApi[], turns = TURNS): { script: Script; seen: Seen } {
  const seen: Seen = { faults: [], requests: [], billed: [] };
  const script: Script = async (exchange) => {
    const body = parseObject((await exchange.body).toString('utf8')) ?? {};
    const { path: full } = exchange.request;
    const path = full.split('?')[0] ?? '';
    const api = apis.find((each) => path.endsWith(each.path) && (!each.callOf || each.callOf(full)));
    if (!api) {
      await exchange.send(404, JSON_TYPE, JSON.stringify({ error: { message: 'Not Found' } }));
      return;
    }
    seen.requests.push(body);
    const fault = api.faultOf(body);
    if (fault !== undefined) {
      seen.faults.push(fault);
      await exchange.send(422, JSON_TYPE, JSON.stringify(api.error(fault, 422)));
      return;
    }
    const { model, stream } = api.callOf?.(full) ?? body;
    const reply = { ...replyTo(api, body, seen.billed.length, turns), model: String(model) };
    seen.billed.push(reply.usage);
    const { streamType = 'text/event-stream' } = api;
    if (stream === true) await exchange.send(200, { 'content-type': streamType }, api.stream(reply));
    else await exchange.send(200, JSON_TYPE, JSON.stringify(api.plain(reply)));
  };
  return { script, seen };
}

const JSON_TYPE = { 'content-type': 'application/json' };

function replyTo(api: StrictApi, body: Json, count: number, turns: number): Omit<Reply, 'model'> {
  const turn = api.turnsOf(body);
  const [first = '', second = first] = api.toolsOf(body);
  const isLast = turn >= turns || first === '';
  return {
    turn,
    reasoning: `Thought ${turn} of ${count}`,
    text: isLast ? `All done after ${api.resultsOf(body).length} results` : '',
    calls: isLast
      ? []
      : [
          { name: first, args: { turn, text: 'a "quoted" ü' } },
          { name: second, args: { turn: turn + 100 } },
        ],
    usage: { input: 100 + count, output: 10 + count },
  };
}
