import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compress, type Message } from '../../../src/compression/conversation/compress.ts';
import { type Json, readWhole } from '../../../src/compression/json/read.ts';
import { History } from '../../../src/compression/repeats/history.ts';
import { diffJson, referToAnswer, referToEarlier } from '../../../src/compression/repeats/references.ts';
import { foldRepeats } from '../../../src/compression/transforms/text/repeated-lines.ts';
import { applyJsonChanges } from '../decode/json-changes.ts';
import { restoreCopy } from '../decode/near-copies.ts';
import { restoreRepeats } from '../decode/repeated-lines.ts';

function read(text: string): Json {
  const value = readWhole(text);
  if (value === undefined) throw new Error(`not JSON: ${text}`);
  return value;
}

const someLine = fc
  .integer({ min: 0, max: 40 })
  .map((n) => (n % 7 === 0 ? '' : `  const value${n} = compute(${n}, "text ${n}");`));
const file = fc.array(someLine, { minLength: 20, maxLength: 60 });
const edit = fc.record({ at: fc.nat(60), remove: fc.nat(3), insert: fc.array(someLine, { maxLength: 3 }) });

function historyOf(text: string): History {
  const history = new History();
  history.add(text, 'the result of read_file {}', { exact: true, inPlace: true });
  return history;
}

describe('referToEarlier()', () => {
  it('gives a near copy as its changes, which restoreCopy() undoes', () => {
    fc.assert(
      fc.property(file, fc.array(edit, { maxLength: 3 }), fc.boolean(), (before, edits, numbered) => {
        const after = [...before];
        for (const { at, remove, insert } of edits) after.splice(at, remove, ...insert);
        const [a, b] = [before, after].map((lines) =>
          lines.map((text, i) => (numbered ? `${String(i + 1).padStart(6)}\t${text}` : text)).join('\n'),
        ) as [string, string];
        const reference = referToEarlier(b, 'x', historyOf(a));
        if (a === b) expect(reference).toMatch(/^\[gw: the same as the result of read_file \{\} above\]$/);
        else if (reference !== undefined) expect(restoreCopy(reference, a)).toBe(b);
      }),
      { numRuns: 3000 },
    );
  });

  it('tells lines that got numbers, or lost them, which restoreCopy() undoes', () => {
    const numbers = fc.constantFrom<(i: number) => string>(
      () => '',
      (i) => `${i}\t`,
      (i) => `${String(i).padStart(6)}→`,
      (i) => `${i}:`,
    );
    let found = 0;
    fc.assert(
      fc.property(file, file, numbers, numbers, fc.nat(9), (same, other, before, after, start) => {
        const write = (lines: string[], number: (i: number) => string, from: number) =>
          lines.map((line, i) => number(from + i) + line).join('\n');
        const [a, b] = [write(same, before, 1), write([...other.slice(0, 3), ...same], after, start)];
        const reference = referToEarlier(b, 'x', historyOf(a));
        if (reference === undefined || a === b) return;
        found++;
        expect(restoreCopy(reference, a)).toBe(b);
      }),
      { numRuns: 3000 },
    );
    expect(found).toBeGreaterThan(2500);
  });

  it('finds nothing in common with another text', () => {
    const text = Array.from({ length: 30 }, (_, i) => `a line of its own, number ${i}`).join('\n');
    const other = Array.from({ length: 30 }, (_, i) => `something else entirely, ${i}`).join('\n');
    expect(referToEarlier(other, 'x', historyOf(text))).toBeUndefined();
  });

  it('takes over what a user pastes of most of an answer, and no less', () => {
    const part = (i: number) =>
      `## Step ${i}\n\nYou install the package number ${i * 7} first of all.\n\n- It listens on port ${4000 + i}.\n`;
    const answer = Array.from({ length: 12 }, (_, i) => part(i)).join('\n');
    const history = new History();
    history.add(answer, 'the answer "x…"', { exact: true, inPlace: true });
    const question = `You wrote:\n${answer}\nIs step 7 right?`;
    const reference = referToAnswer(question, history) ?? '';
    expect(reference.length).toBeLessThan(400);
    expect(restoreCopy(reference, answer)).toBe(question);
    expect(
      referToAnswer(
        `Translate this for me, please:\n${part(3)}\n${part(4)}\n${'Thanks. '.repeat(40)}`,
        history,
      ),
    ).toBeUndefined();
  });

  it('leaves what a user says again', () => {
    const words = Array.from({ length: 12 }, (_, i) => `I want point ${i} to be done well and soon.`).join(
      '\n',
    );
    const history = new History();
    history.add(words, 'the block', { exact: true, inPlace: true, byUser: true });
    expect(referToAnswer(`${words}\nPlease.`, history)).toBeUndefined();
  });

  it('names the row of a changed JSON value', () => {
    const rows = Array.from({ length: 20 }, (_, i) => ({
      order_id: `#W${i}`,
      status: 'open',
      address: 'x'.repeat(20),
    }));
    const history = new History();
    history.add(JSON.stringify(rows, null, 2), 'poll', { exact: true, inPlace: false });
    const after = JSON.stringify(
      rows.map((row, i) => (i === 7 ? { ...row, status: 'held' } : row)),
      null,
      2,
    );
    expect(referToEarlier(after, 'poll', history)).toContain(
      '[7]."status" (order_id "#W7"): "open" -> "held"',
    );
  });
});

describe('diffJson()', () => {
  it('is undone by applyJsonChanges()', () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue({ maxDepth: 2 }), { minLength: 1 }),
        fc.nat(),
        fc.jsonValue(),
        (list, at, value) => {
          const before = JSON.stringify(list);
          const after = JSON.stringify(list.with(at % list.length, value));
          const changes = diffJson(read(before), read(after));
          if (changes) expect(applyJsonChanges(before, changes)).toBe(after);
        },
      ),
    );
  });
});

it('a second read refers to the first, new fields and longer lists included', () => {
  const booking = {
    id: 'NM1VX1',
    user: 'ann_lee',
    seats: [{ row: 14, seat: 'C', notes: 'x'.repeat(150) }],
    paid: [1],
  };
  const changed = {
    ...booking,
    paid: [1, -1],
    status: 'cancelled',
    seats: [{ ...booking.seats[0], row: 15 }],
  };
  const history = new History();
  const fate = { exact: true, inPlace: true };
  const text = JSON.stringify({ ...booking, note: 'y'.repeat(100) });
  history.add(text, 'the result of read {"id":"NM1VX1"}', fate);
  const after = JSON.stringify({ ...booking, note: 'y'.repeat(100), ...changed });
  expect(referToEarlier(after, 'the result of read {"id":"NM1VX1"}', history)?.split('\n')).toEqual([
    '[gw: the same as the result of read {"id":"NM1VX1"} above but for]',
    '."seats"[0]."row": 14 -> 15',
    '."paid": -> [1,-1]',
    '."status": -> "cancelled"',
  ]);
});

describe('foldRepeats()', () => {
  it('is undone by restoreRepeats()', () => {
    fc.assert(
      fc.property(fc.array(file, { maxLength: 4 }), (files) => {
        const text = [...files, ...files].flat().join('\n');
        expect(restoreRepeats(foldRepeats(text))).toBe(text);
      }),
      { numRuns: 2000 },
    );
  });

  it('says a stretch once', () => {
    const stretch = Array.from({ length: 6 }, (_, i) => `    assert something that is long enough, ${i}`);
    const folded = foldRepeats(['one', ...stretch, 'two', ...stretch, 'end'].join('\n')).split('\n');
    expect(folded.slice(8)).toEqual([stretch[0], '[gw: next 5 lines as after this line before]', 'end']);
  });

  it('says how often lines follow that repeat the ones before', () => {
    const frame = ['app/walk.py:12: in walk', '    return walk(child, depth + 1)'];
    const text = ['Traceback:', ...frame, ...frame, ...frame, ...frame, 'RecursionError'].join('\n');
    expect(foldRepeats(text).split('\n')).toEqual([
      'Traceback:',
      ...frame,
      '[gw: the last 2 lines 3 more times]',
      'RecursionError',
    ]);
    expect(restoreRepeats(foldRepeats(text))).toBe(text);
    const line = 'retrying the connection to db-7 in 5 seconds';
    expect(foldRepeats([line, line, line, line].join('\n'))).toBe(
      `${line}\n[gw: the last line 3 more times]`,
    );
  });

  it('is undone where lines repeat in cycles', () => {
    const few = fc.array(fc.constantFrom('a line that is long enough to count here', 'x', ''), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(few, (lines) => {
        expect(restoreRepeats(foldRepeats(lines.join('\n')))).toBe(lines.join('\n'));
      }),
      { numRuns: 3000 },
    );
  });
});

it('no name of what is referred to ends with half a character', () => {
  const content = Array.from({ length: 40 }, (_, i) => `step ${i}: listen on port ${4000 + i * 7}`).join(
    '\n',
  );
  for (let length = 0; length < 100; length++) {
    const text = `${'x'.repeat(length)}\u{1f600}`;
    const call = (id: string): Message[] => [
      {
        role: 'assistant',
        tool_calls: [{ id, type: 'function', function: { name: 'sh', arguments: JSON.stringify(text) } }],
      },
      { role: 'tool', tool_call_id: id, content },
    ];
    const answer = `${text}\n${content}`;
    const messages = [
      ...call('a'),
      ...call('b'),
      { role: 'assistant', content: answer },
      { role: 'user', content: `You wrote:\n${answer}\nWhy?` },
    ];
    const out = compress(messages, { level: 'safe' }).messages.map((message) => String(message.content));
    expect(out[3]).toContain('[gw: the same as the result of sh');
    expect(out.join('')).not.toMatch(/\p{Surrogate}/u);
  }
});
