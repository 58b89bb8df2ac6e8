import { describe, expect, it } from 'vitest';
import { compress, type Message } from '../../../src/compression/conversation/compress.ts';

const file = Array.from(
  { length: 40 },
  (_, i) => `export const value${i} = compute(${i}, "text ${i}");`,
).join('\n');

function call(id: string, name: string, args: object): Message {
  const called = { id, type: 'function', function: { name, arguments: JSON.stringify(args, null, 1) } };
  return { role: 'assistant', content: null, tool_calls: [called] };
}

function readAfter(written: string, read: string): string {
  const messages: Message[] = [
    { role: 'user', content: 'Write me a file of values, please.' },
    call('a', 'write_file', { path: 'src/values.ts', content: written }),
    { role: 'tool', tool_call_id: 'a', content: 'ok' },
    call('b', 'read_file', { path: 'src/values.ts' }),
    { role: 'tool', tool_call_id: 'b', content: read },
  ];
  const out = compress(messages, { level: 'safe' }).messages;
  expect(out.slice(0, 4)).toEqual(messages.slice(0, 4));
  return String(out[4]?.content);
}

describe('a file that an agent has written', () => {
  it('is not read back in full', () => {
    expect(readAfter(file, file)).toBe(
      '[gw: the same as the content that write_file {"path":"src/values.ts"} was given above]',
    );
  });

  it('is not read back in full where the viewer numbers its lines', () => {
    const viewed = file.split('\n').map((line, i) => `${String(i + 1).padStart(6)}→${line}`);
    expect(readAfter(file, viewed.join('\n')).split('\n').slice(1)).toEqual([
      '[gw: lines 1-40, numbered from "     1→"]',
    ]);
  });

  it('is read back as its changes', () => {
    const changed = file.replace('compute(20, "text 20")', 'recompute(20)');
    const out = readAfter(file, changed);
    expect(out.length).toBeLessThan(400);
    expect(out).toContain('export const value20 = recompute(20);');
  });

  it('is read back as it is where it was another', () => {
    const other = Array.from({ length: 40 }, (_, i) => `def method_${i}(self): return ${i}`).join('\n');
    expect(readAfter(file, other)).toBe(other);
  });
});
