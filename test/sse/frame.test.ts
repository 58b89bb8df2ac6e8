import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createEventFramer, dataOfEvent, endOfEvent } from '../../src/sse/frame.ts';
import { inspectChoices } from '../../src/wire/apis/choice-answers.ts';

const LONG = { timeout: 120_000 };

/** What a framer gives for a text that comes in these pieces: runs of whole events, and what is left. */
function framed(pieces: Buffer[]): { runs: Buffer[]; rest: Buffer } {
  const framer = createEventFramer();
  const runs = pieces.map((piece) => framer.push(piece));
  return { runs, rest: framer.rest() };
}

/** The data of each event in a text. */
function eventsOf(bytes: Buffer): string[] {
  const events: string[] = [];
  for (let start = 0; start < bytes.length; ) {
    const found = endOfEvent(bytes, start);
    const end = found < 0 ? bytes.length : found;
    events.push(dataOfEvent(bytes.subarray(start, end)));
    start = end;
  }
  return events;
}

const line = fc.oneof(
  fc.constantFrom(': comment', 'event: x', 'id', 'retry: 3', 'data', 'data:', 'data: é✓🎉', 'datum: 1'),
  fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => `data:${text.replaceAll(/[\r\n]/g, '')}`),
);
const eol = fc.constantFrom('\n', '\r', '\r\n');
const stream = fc
  .array(fc.tuple(fc.array(line, { minLength: 1, maxLength: 4 }), eol), { maxLength: 6 })
  .map((events) => Buffer.from(events.map(([lines, end]) => lines.join(end) + end + end).join('')));

describe('createEventFramer()', () => {
  test('gives back all bytes in order, whole events only, however they come', LONG, () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(400), { maxLength: 10 }), (bytes, cuts) => {
        const places = [...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length].sort(
          (a, b) => a - b,
        );
        const pieces = places.map((to, i) => bytes.subarray(places[i - 1] ?? 0, to));
        const { runs, rest } = framed(pieces);
        expect(Buffer.concat([...runs, rest]).equals(bytes)).toBe(true);
        for (const run of runs) {
          if (run.length > 0) expect([0x0a, 0x0d]).toContain(run[run.length - 1]);
        }
        const apart = [...runs.filter((run) => run.length > 0).flatMap(eventsOf), ...eventsOf(rest)];
        expect(apart.filter((data) => data !== '')).toEqual(eventsOf(bytes).filter((data) => data !== ''));
      }),
      { numRuns: process.env.GW_LONG ? 200_000 : 5_000 },
    );
  });

  test('gives a chunk of whole events back by reference', () => {
    const chunk = Buffer.from('data: 1\n\ndata: 2\n\n');
    expect(createEventFramer().push(chunk)).toBe(chunk);
  });

  test('waits after a CR that could be half a CRLF', () => {
    const framer = createEventFramer();
    expect(framer.push(Buffer.from('data: 1\r\n\r')).toString()).toBe('');
    expect(framer.push(Buffer.from('\ndata')).toString()).toBe('data: 1\r\n\r\n');
    expect(framer.rest().toString()).toBe('data');
  });

  test('holds no more of an event that does not end than it is told to', () => {
    const framer = createEventFramer(1024 * 1024);
    const chunk = Buffer.alloc(65_536, 0x78);
    let given = 0;
    for (let i = 0; i < 64; i++) given += framer.push(chunk).length;
    expect(given + framer.rest().length).toBe(64 * chunk.length);
    expect(framer.rest().length).toBeLessThanOrEqual(1024 * 1024);
  });

  test('takes a megabyte event in pieces of 16 bytes in reasonable time', () => {
    const framer = createEventFramer();
    const started = performance.now();
    for (let i = 0; i < 65_536; i++) framer.push(Buffer.alloc(16, 0x78));
    expect(performance.now() - started).toBeLessThan(8_000);
  });
});

describe('dataOfEvent()', () => {
  test.each([
    ['data: a\n\n', 'a'],
    ['data:a\r\n\r\n', 'a'],
    ['data:  a\r\r', ' a'],
    ['data: a\ndata: b\n\n', 'a\nb'],
    ['data\n\n', ''],
    [': c\nevent: e\nid: 1\n\n', ''],
    ['database: x\n\n', ''],
    ['data: {"a":"\\n"}\n\n', '{"a":"\\n"}'],
  ])('%j has %j', (event, data) => {
    expect(dataOfEvent(Buffer.from(event))).toBe(data);
  });
});

describe.each(['\n', '\r\n', '\r'])('a chat stream with %j', (end) => {
  const usage = { prompt_tokens: 3, completion_tokens: 4 };
  const events = [
    `data: {"choices":[{"delta":{"content":"é✓🎉 \\"usage\\""}}],"usage":null}`,
    ': ping',
    `event: message${end}data:{"choices":[],"usage":${JSON.stringify(usage)}}`,
    'data:[DONE]',
  ].map((event) => event + end + end);
  const bytes = Buffer.from(events.join(''));
  const hidden = events.filter((_, i) => i !== 2).join('');

  test('is read alike when it is cut in two at every byte', () => {
    for (let at = 0; at <= bytes.length; at++) {
      const framer = createEventFramer();
      const out: Buffer[] = [];
      let seen: unknown;
      const take = (run: Buffer) => {
        const { pass, closing, usage: found } = inspectChoices(run, true);
        out.push(pass, closing ?? Buffer.alloc(0));
        seen = found ?? seen;
      };
      take(framer.push(bytes.subarray(0, at)));
      take(framer.push(bytes.subarray(at)));
      take(framer.rest());
      expect([at, Buffer.concat(out).toString(), seen]).toEqual([at, hidden, usage]);
    }
  });
});
