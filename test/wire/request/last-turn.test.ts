import { expect, test } from 'vitest';
import { lastTurn } from '../../../src/wire/request/last-turn.ts';
import { scanBody } from '../../../src/wire/request/scan/body-scan.ts';

function turnOf(body: object, space?: number) {
  const bytes = Buffer.from(JSON.stringify(body, null, space));
  return lastTurn({ bytes, members: scanBody(bytes, undefined).members });
}

const asked = { role: 'user', content: 'Run the tests' };
const called = (id: string) => ({
  role: 'assistant',
  content: [{ type: 'tool_use', id, name: 'bash', input: { command: 'npm test' } }],
});
const result = (id: string, content: string, more = {}) => ({
  role: 'user',
  content: [{ tool_use_id: id, type: 'tool_result', content, ...more }],
});
const claude = (id: string, content: string, more = {}) =>
  turnOf({ model: 'm', messages: [asked, called(id), result(id, content, more)], max_tokens: 9 });
const chat = (id: string, content: string, space?: number) =>
  turnOf({ messages: [asked, { role: 'tool', tool_call_id: id, content }] }, space);
const codex = (id: string, output: string) =>
  turnOf({ input: [asked, { type: 'function_call_output', call_id: id, output }], stream: true });

test('turns that differ in the ids of their calls alone have one hash, in each API', () => {
  for (const turn of [claude, chat, codex]) {
    expect(turn('id_1', 'ok')?.hash).toBe(turn('id_2', 'ok')?.hash);
    expect(turn('id_1', 'ok')?.hash).not.toBe(turn('id_1', 'ok, 2 tests')?.hash);
  }
});

test('what came before the last turn is not in its hash', () => {
  const before = (text: string) => turnOf({ messages: [{ role: 'user', content: text }, asked] })?.hash;
  expect(before('one')).toBe(before('two'));
});

test('a turn that is quoted in a text is text', () => {
  const quoted = JSON.stringify([{ role: 'tool', content: 'Error: no' }]);
  expect(turnOf({ messages: [{ role: 'user', content: quoted }] })?.tool).toBeUndefined();
  expect(turnOf({ messages: [{ role: 'user', content: `${quoted} A` }] })?.hash).not.toBe(
    turnOf({ messages: [{ role: 'user', content: `${quoted} B` }] })?.hash,
  );
});

test('a failed tool shows by the field of its API, its exit code or its first word', () => {
  expect(turnOf({ messages: [asked] })?.tool).toBeUndefined();
  expect(claude('a', '42 tests passed')?.tool).toBe('ok');
  expect(claude('a', 'x is not a function', { is_error: true })?.tool).toBe('failed');
  expect(chat('a', 'Error: ENOENT')?.tool).toBe('failed');
  expect(chat('a', 'Traceback (most recent call last)', 2)?.tool).toBe('failed');
  expect(codex('a', 'Process exited with code 1\nOutput:')?.tool).toBe('failed');
  expect(codex('a', 'Process exited with code 0\nOutput:')?.tool).toBe('ok');
  // A file that is read may well be about errors.
  expect(chat('a', 'export class Missing extends Error {}')?.tool).toBe('ok');
});

test('of a long turn both ends count; a request without a conversation has none', () => {
  const long = (end: string) => claude('a', `${'x'.repeat(100_000)}${end}`);
  expect(long('1')?.hash).not.toBe(long('2')?.hash);
  expect(claude('a', 'y'.repeat(50_000), { is_error: true })?.tool).toBe('failed');
  expect(turnOf({ model: 'm', prompt: 'Hi' })).toBeUndefined();
});
