import { describe, expect, it } from 'vitest';
import { compress, type Message } from '../../../../src/compression/conversation/compress.ts';
import { readQuestion } from '../../../../src/compression/prompt/question.ts';
import { unpadNumbers } from '../../../../src/compression/transforms/code/line-numbers.ts';

const source = Array.from({ length: 30 }, (_, i) => [
  `def part_${i}(value):`,
  `    if value > ${i}:`,
  `        return value - ${i}`,
  '',
]).flat();
const viewed = (separator: string) =>
  source.map((line, i) => `${String(i + 1).padStart(6)}${separator}${line}`).join('\n');

describe('unpadNumbers()', () => {
  it.each(['\t', '→', ': ', '| '])(
    'drops the blanks before line numbers and nothing else (%j)',
    (separator) => {
      const expected = source.map((line, i) => `${i + 1}${separator}${line}`).join('\n');
      expect(unpadNumbers(viewed(separator), undefined)).toBe(expected);
    },
  );

  it('leaves what the question names as it was printed', () => {
    const out = unpadNumbers(viewed('\t'), readQuestion('Why does `part_3` fail?'));
    const lines = viewed('\t').split('\n');
    expect(out).toContain(lines.slice(12, 15).join('\n'));
    expect(out.split('\n')[20]).toBe('21\tdef part_5(value):');
  });

  it.each([
    ['lines that are not numbered one by one', viewed('\t').replace('     7\t', '     9\t')],
    ['a list among other lines', `${viewed('\t').split('\n').slice(0, 22).join('\n')}\n${source.join('\n')}`],
    ['a table of numbers', Array.from({ length: 40 }, (_, i) => `  ${i * 3}\tx`).join('\n')],
  ])('leaves %s', (_, text) => {
    expect(unpadNumbers(text, undefined)).toBe(text);
  });
});

it('level safe leaves line numbers as they were printed', () => {
  const messages = [{ role: 'user', content: `Here it is:\n\n${viewed('\t')}\n\nWhat does it do?` }];
  expect(compress(messages, { level: 'safe' }).messages).toEqual(messages);
  expect(compress(messages, { level: 'balanced' }).messages).not.toEqual(messages);
});

it('a later read refers to lines of an unpadded one', () => {
  const read = (id: string, content: string): Message[] => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'read_file', arguments: '{"path":"a.py"}' } }],
    },
    { role: 'tool', tool_call_id: id, content },
  ];
  const changed = viewed('\t').replace('value > 11', 'value >= 11');
  const messages = [...read('a', viewed('\t')), ...read('b', changed)];
  const out = compress(messages, { level: 'balanced' }).messages.map((message) => String(message.content));
  expect(out[1]).toMatch(/^1\tdef part_0/);
  expect(out[3]).toMatch(/^\[gw: like the result of read_file/);
  expect(out[3]).toContain('value >= 11');
});
