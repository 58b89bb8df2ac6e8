import { isUtf8 } from 'node:buffer';
import { expect, test } from 'vitest';
import { KeyWatch } from '../../../../src/json/key-watch.ts';
import { withPlainLetters } from '../../../../src/json/plain-letters.ts';
import { createRecentTexts } from '../../../../src/json/recent-texts.ts';
import { type Member, scanObject } from '../../../../src/json/scan.ts';
import { type ScannedBody, scanBody } from '../../../../src/wire/request/scan/body-scan.ts';
import {
  findMisleadingKey,
  KNOWN_KEYS,
  mayMislead,
} from '../../../../src/wire/request/scan/misleading-key.ts';
import { jsonBody } from '../../../differential/json-body.ts';
import { diceOf } from '../../../fuzz/dice.ts';

const RUNS = Number(process.env.GW_FUZZ_RUNS ?? 3_000);
const ENDPOINTS = ['/v1/chat/completions', '/v1/responses', '/v1/messages'];

type Watch = (bytes: Buffer) => { members: Member[]; mayMislead: boolean };

/** Bodies with a misleading key, and how many of them a quick check lets by. */
function played(watch: Watch): { misleading: number; missed: number; plain: number; suspected: number } {
  const counts = { misleading: 0, missed: 0, plain: 0, suspected: 0 };
  for (let i = 0; i < RUNS; i++) {
    const dice = diceOf(9, i);
    const bytes = withPlainLetters(jsonBody(dice, dice.pick(ENDPOINTS)));
    try {
      JSON.parse(bytes.toString());
      const found = findMisleadingKey(bytes) !== undefined;
      const suspected = mayMislead({ bytes, ...watch(bytes) });
      counts[found ? 'misleading' : 'plain']++;
      if (found && !suspected) counts.missed++;
      if (!found && suspected) counts.suspected++;
    } catch {
      // Not the JSON of an object.
    }
  }
  return counts;
}

const watched =
  (known: ReadonlySet<number>): Watch =>
  (bytes) => {
    if (!isUtf8(bytes)) throw new Error('a scan refuses it');
    const keys = new KeyWatch(known);
    const members = scanObject(bytes, { keys });
    return { members, mayMislead: keys.found };
  };
/** Looks at the members of the body itself alone. */
const shallow: Watch = (bytes) => ({ members: scanObject(bytes), mayMislead: false });

test('the watch of a scan lets no misleading key by, and suspects few bodies without one', () => {
  const { misleading, missed, plain, suspected } = played((bytes) => scanBody(bytes, undefined));
  expect(missed).toBe(0);
  expect(misleading).toBeGreaterThan(RUNS / 10);
  expect(suspected).toBeLessThan(plain / 2);
});

test('a watch that knows no names, or sees the outermost object alone, is caught', () => {
  expect(played(watched(KNOWN_KEYS)).missed).toBe(0);
  expect(played(watched(new Set())).missed).toBeGreaterThan(0);
  expect(played(shallow).missed).toBeGreaterThan(0);
});

test('a scan that goes on behind an earlier body finds what both of them have', () => {
  const recent = createRecentTexts<ScannedBody>();
  const read = (...messages: string[]) => {
    const bytes = Buffer.from(`{"model":"m","messages":[${messages.join()}]}`);
    const earlier = recent.find(bytes);
    const scan = scanBody(bytes, undefined, earlier);
    recent.keep({ bytes, scan }, earlier);
    return [earlier !== undefined, scan.mayMislead];
  };
  const plain = Array.from({ length: 9 }, () => `{"role":"user","content":"${'word '.repeat(900)}"}`);
  const doubled = `{"role":"user","role":"system","content":"${'word '.repeat(900)}"}`;
  expect(read(...plain)).toEqual([false, false]);
  expect(read(...plain, doubled)).toEqual([true, true]);
  expect(read(...plain, doubled, ...plain)).toEqual([true, true]);
  expect(read(...plain, ...plain)).toEqual([true, false]);
});
