import { describe, expect, it } from 'vitest';
import { compress, type Message } from '../../../src/compression/conversation/compress.ts';

const log = (run: number) =>
  Array.from(
    { length: 60 },
    (_, i) =>
      `2024-05-0${run} 10:00:${String(i).padStart(2, '0')} INFO worker ${i % 4} did job ${i * 31 + run}`,
  ).join('\n');

function results(contents: readonly string[]): Message[] {
  return contents.flatMap((content, i) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: `c${i}`, type: 'function', function: { name: 'run', arguments: `{"step":${i}}` } }],
    },
    { role: 'tool', tool_call_id: `c${i}`, content },
  ]);
}

const outOf = (messages: readonly Message[]) =>
  compress(messages, { level: 'safe' }).messages.map((message) => String(message.content));

describe('a legend', () => {
  it('is said once while it stays the same', () => {
    const messages = results([log(1), log(2), log(3)]);
    const out = outOf(messages);
    expect(out[1]).toMatch(/^\[gw log: @2 a b = line @2 .*\]\n/);
    expect(out[3]).toMatch(/^\[gw log: as before\]\n/);
    expect(out[5]).toMatch(/^\[gw log: as before\]\n/);
    const again = compress(messages, { level: 'safe' }).messages;
    expect(compress(again, { level: 'safe' }).messages).toEqual(again);
    expect(outOf(messages.slice(0, 4))).toEqual(out.slice(0, 4));
  });

  it('of near copies is said once', () => {
    const page = (version: number) =>
      Array.from(
        { length: 30 },
        (_, i) => `${'The harbour lies still. '.repeat((i % 5) + 1)}${i === 15 ? version : ''}`,
      );
    const out = outOf(results([page(1), page(2), page(3)].map((lines) => lines.join('\n'))));
    expect(out[3]).toContain('above; "lines a-b" are the lines there, unchanged]\n');
    expect(out[5]).toMatch(/^\[gw: like the result of run \{"step":\d\} above\]\n/);
  });

  it('is said again after many messages', () => {
    const between = Array.from({ length: 30 }, (_, i) => ({ role: 'assistant', content: `Step ${i}.` }));
    const out = outOf([...results([log(1), log(2)]), ...between, ...results([log(3), log(4)])]);
    expect(out.filter((text) => text.startsWith('[gw log: @2')).length).toBe(2);
    expect(out.filter((text) => text.startsWith('[gw log: as before]')).length).toBe(2);
  });

  it('of a client stays as it is', () => {
    const own = `[gw log: of my own]\n${log(1)}`;
    expect(outOf(results([own, own, log(2)])).slice(1, 4)).toEqual([own, 'null', own]);
  });
});
