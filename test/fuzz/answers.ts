import type { Dice } from './dice.ts';
import { mutateBytes, mutateJson, writeJson } from './mutate.ts';
import { type Plan, WORDS } from './plans.ts';

/** What has to be booked for an answer; `anything` where nobody can say. */
export type Booking = 'reported' | 'estimated' | 'anything';

/** The bytes of an answer and how its connection ends. */
export interface Wired {
  pieces: Buffer[];
  end: 'stay' | 'close' | 'reset' | 'hang';
  booking: Booking;
  /** What was done to it, for messages. */
  how: string;
}

/** Breaks an answer in one of many ways, or writes it in one that changes nothing of its meaning. */
export function breakAnswer(plan: Plan, dice: Dice, secret: string): Wired {
  const way = dice.below(10);
  if (way < 3) return sane(plan, dice);
  if (way < 5 && !isWithoutText(plan))
    return sane(
      { ...plan, events: plan.events.map((event) => withoutUsage(event, dice)) },
      dice,
      'estimated',
    );
  if (way < 8) return dice.pick(BREAKS)(plan, dice, secret);
  const broken = { ...plan, events: breakEvents(plan.events, dice) };
  return { ...sane(broken, dice), booking: 'anything', how: 'events' };
}

/** Embeddings have no text that could contradict a missing count. */
function isWithoutText({ events }: Plan): boolean {
  return JSON.stringify(events).includes('"embedding"') || !JSON.stringify(events).includes('quick brown');
}

const NO_USAGE = [
  undefined,
  null,
  {},
  '',
  'none',
  [],
  0,
  true,
  { prompt_tokens: '9', completion_tokens: [1] },
  { input_tokens: -3, output_tokens: -4 },
];

/** The event with a usage that says nothing, wherever it has one. */
function withoutUsage(event: object | string, dice: Dice): object | string {
  if (typeof event === 'string') return event;
  const value = dice.pick(NO_USAGE);
  return JSON.parse(JSON.stringify(event), (key, old) => (key === 'usage' ? value : old));
}

const INTERIM = [
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n',
  'HTTP/1.1 102 Processing\r\n\r\n',
];
const AFTER_DONE = [
  'data: [DONE]\n\n',
  ': bye\n\n',
  '\n\n\n',
  'data: {"choices":[]}\n\n',
  'data: x\n\n',
  'event: x\ndata: {"a":1}\n\n',
];

/** Writes an answer in an odd way that any client reads as the same. */
function sane({ events, isStream }: Plan, dice: Dice, booking: Booking = 'reported'): Wired {
  const body = isStream ? streamText(events, dice) : jsonText(events[0], dice);
  const after = isStream && events.at(-1) === '[DONE]' && dice.chance(0.15) ? dice.pick(AFTER_DONE) : '';
  const type = isStream
    ? dice.pick(['text/event-stream', 'text/event-stream; charset=utf-8', 'Text/Event-Stream;charset=UTF-8'])
    : dice.pick(['application/json', 'application/json; charset=utf-8', 'Application/JSON']);
  const framing = dice.pick(['chunked', 'chunked', 'length', 'close'] as const);
  const interim = dice.chance(0.1) ? dice.pick(INTERIM) : '';
  const extra = dice.chance(0.1) ? `x-huge: ${'x'.repeat(6_000)}\r\n` : '';
  const wired = frame(
    `${interim}${statusLine(200, dice)}content-type: ${type}\r\n${extra}`,
    Buffer.from(body + after),
    framing,
    dice,
  );
  return { ...wired, booking, how: `${booking}, ${framing}${after && ', after [DONE]'}` };
}

function statusLine(status: number, dice: Dice): string {
  return `HTTP/1.1 ${status}${dice.pick([' OK', ' ', ' Really Fine'])}\r\n`;
}

function jsonText(value: unknown, dice: Dice): string {
  return `${dice.chance(0.05) ? '\n ' : ''}${writeJsonPlainly(value, dice)}${dice.chance(0.1) ? '\r\n' : ''}`;
}

function writeJsonPlainly(value: unknown, dice: Dice): string {
  return JSON.stringify(value, null, dice.chance(0.1) ? 1 : undefined);
}

function streamText(events: (object | string)[], dice: Dice): string {
  const eol = dice.pick(['\n', '\n', '\n', '\r\n', '\r']);
  const space = dice.pick([' ', ' ', '']);
  const bom = dice.chance(0.1) ? '\ufeff' : '';
  const texts = events.map((event) => {
    const name = typeof event === 'object' && 'type' in event ? `event:${space}${event.type}${eol}` : '';
    const data = typeof event === 'string' ? event : JSON.stringify(event);
    const noise = dice.chance(0.05)
      ? dice.pick([
          `: ${'k'.repeat(dice.pick([1, 70_000]))}${eol}${eol}`,
          `id:1${eol}`,
          `retry: 5${eol}`,
          `:${eol}${eol}`,
        ])
      : '';
    return `${noise}${name}data:${space}${data}${eol}${eol}`;
  });
  return bom + texts.join('');
}

/** Frames a body in pieces that are cut anywhere. */
function frame(
  head: string,
  body: Buffer,
  framing: 'chunked' | 'length' | 'close',
  dice: Dice,
): Pick<Wired, 'pieces' | 'end'> {
  const cuts = dice.chance(0.5)
    ? []
    : Array.from({ length: 1 + dice.below(4) }, () => dice.below(body.length + 1)).sort((a, b) => a - b);
  const parts = [0, ...cuts]
    .map((from, i) => body.subarray(from, cuts[i] ?? body.length))
    .filter(({ length }) => length > 0);
  if (framing === 'length')
    return { pieces: [Buffer.from(`${head}content-length: ${body.length}\r\n\r\n`), ...parts], end: 'stay' };
  if (framing === 'close')
    return { pieces: [Buffer.from(`${head}connection: close\r\n\r\n`), ...parts], end: 'close' };
  const extension = dice.chance(0.1) ? ';a="b"' : '';
  const trailer = dice.chance(0.1) ? 'x-checksum: 1\r\n' : '';
  const chunks = parts.map((part) =>
    Buffer.concat([Buffer.from(`${part.length.toString(16)}${extension}\r\n`), part, Buffer.from('\r\n')]),
  );
  return {
    pieces: [
      Buffer.from(`${head}transfer-encoding: chunked\r\n\r\n`),
      ...chunks,
      Buffer.from(`0\r\n${trailer}\r\n`),
    ],
    end: 'stay',
  };
}

/** Mutates, drops, repeats, swaps or cuts off events. */
function breakEvents(events: (object | string)[], dice: Dice): (object | string)[] {
  const result = [...events];
  for (let left = 1 + dice.below(2); left > 0; left--) {
    const at = dice.below(result.length);
    const event = result[at] ?? {};
    const way = result.length === 1 ? 0 : dice.below(6);
    if (way < 2)
      result[at] =
        typeof event === 'string'
          ? dice.pick(['[done]', '', '[', 'null', '""', '{}'])
          : asObject(mutateJson(event, dice), dice);
    else if (way === 2) result.splice(at, 1);
    else if (way === 3) result.splice(at, 0, event);
    else if (way === 4) result.push(...result.splice(at, 1));
    else result.splice(at);
    if (result.length === 0) result.push({});
  }
  return result;
}

/** Mutated JSON as text where it can't be written from a value. */
function asObject(value: unknown, dice: Dice): string | object {
  return writeJson(value, dice);
}

type BreakAnswer = (plan: Plan, dice: Dice, secret: string) => Wired;

const anything = (wired: Pick<Wired, 'pieces' | 'end'>, how: string): Wired => ({
  ...wired,
  booking: 'anything',
  how,
});
const JSON_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';

const STATUSES = [
  400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529, 201, 202, 204, 206, 301, 307, 304,
  418, 599, 999, 600, 199, 101,
];
const HEADS = [
  'content-length: 5\r\ncontent-length: 6\r\n',
  'content-length: -1\r\n',
  'content-length: 99999999999999999999\r\n',
  'transfer-encoding: gzip\r\n',
  'content-length: 5\r\ntransfer-encoding: chunked\r\n',
  'x: \0\r\n',
  ' folded: x\r\n',
  'no colon\r\n',
  'connection: upgrade\r\nupgrade: h2c\r\n',
  `x: ${'x'.repeat(200_000)}\r\n`,
  'retry-after: -1\r\n',
  'retry-after: Fri, 99 Foo 2099\r\n',
  'x-request-id: \xff\xfe\r\n',
  'set-cookie: a=b\r\nset-cookie: c=d\r\n',
  'location: http://127.0.0.1:1/\r\n',
  'content-encoding: gzip\r\n',
  'content-encoding: br\r\n',
  'content-encoding: x\r\n',
  'content-range: bytes 0-1/9\r\n',
];
const TYPES = [
  'text/html',
  '',
  'text/event-stream',
  'application/json',
  'application/octet-stream',
  'audio/mpeg',
  ';',
  'multipart/mixed',
  'application/x-ndjson',
];

/** Answers for which only the general rules hold. */
const BREAKS: readonly BreakAnswer[] = [
  (plan, dice) => {
    const wired = sane(plan, dice);
    const bytes = Buffer.concat(wired.pieces);
    return anything(
      {
        pieces: [bytes.subarray(0, dice.below(bytes.length + 1))],
        end: dice.pick(['close', 'reset'] as const),
      },
      'cut',
    );
  },
  (plan, dice) =>
    anything({ pieces: [mutateBytes(Buffer.concat(sane(plan, dice).pieces), dice)], end: 'close' }, 'bytes'),
  (plan, dice) => {
    const status = dice.pick(STATUSES);
    const text = jsonText(
      dice.chance(0.5)
        ? plan.events[0]
        : { error: { message: 'no', type: 'x', code: dice.pick([null, 'context_length_exceeded', 1, []]) } },
      dice,
    );
    return anything(
      frame(`HTTP/1.1 ${status} X\r\ncontent-type: application/json\r\n`, Buffer.from(text), 'close', dice),
      `status ${status}`,
    );
  },
  (plan, dice) => {
    const type = dice.pick(TYPES);
    const text = dice.chance(0.5) ? streamText(plan.events, dice) : jsonText(plan.events[0], dice);
    return anything(
      frame(`HTTP/1.1 200 OK\r\n${type && `content-type: ${type}\r\n`}`, Buffer.from(text), 'close', dice),
      `type ${type}`,
    );
  },
  (plan, dice) => {
    const header = dice.pick(HEADS);
    return anything(
      {
        pieces: [Buffer.from(`${JSON_HEAD}${header}\r\n${jsonText(plan.events[0], dice)}`, 'latin1')],
        end: 'close',
      },
      `head ${header.slice(0, 30)}`,
    );
  },
  (plan, dice) => {
    const text = Buffer.from(jsonText(plan.events[0], dice));
    const length = Math.max(0, text.length + dice.below(40) - 20);
    return anything(
      { pieces: [Buffer.from(`${JSON_HEAD}content-length: ${length}\r\n\r\n`), text], end: 'close' },
      'length',
    );
  },
  (plan, dice, secret) => {
    const error = {
      error: {
        message: `Incorrect API key provided: ${secret}`,
        type: secret,
        code: dice.pick([secret, 'invalid_api_key']),
      },
    };
    const head = `HTTP/1.1 ${dice.pick([401, 500, 200, 400])} ${secret}\r\nx-request-id: ${secret}\r\ncontent-type: `;
    if (!plan.isStream)
      return anything(
        frame(`${head}application/json\r\n`, Buffer.from(JSON.stringify(error)), 'length', dice),
        'echoed key',
      );
    const text = streamText(
      [...plan.events.slice(0, dice.below(plan.events.length)), { type: 'error', ...error }],
      dice,
    );
    return anything(frame(`${head}text/event-stream\r\n`, Buffer.from(text), 'chunked', dice), 'echoed key');
  },
  (_plan, dice) =>
    anything(
      {
        pieces: [
          Buffer.from(
            dice.pick([
              '',
              '\r\n',
              'BANANA\r\n\r\n',
              'HTTP/1.1',
              'HTTP/1.1 abc\r\n\r\n',
              'HTTP/2.0 200 OK\r\n\r\n',
              '\0'.repeat(500),
            ]),
          ),
        ],
        end: 'close',
      },
      'no HTTP',
    ),
  (_plan, dice) => anything({ pieces: [], end: dice.chance(0.05) ? 'hang' : 'reset' }, 'no answer'),
  (plan, dice) => {
    const text = 'y'.repeat(dice.pick([100_000, 400_000]));
    const events = plan.events.map((event) =>
      typeof event === 'string' ? event : JSON.parse(JSON.stringify(event).replaceAll(WORDS, text)),
    );
    return anything(sane({ ...plan, events }, dice), 'huge text');
  },
];
