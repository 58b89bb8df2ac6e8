import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  changedValues,
  FORMATS,
  type FormatName,
  restoreValues,
  valueAt,
  writeValues,
} from '../../../src/agents/settings/edit.ts';
import { CHANGES, oddText } from './odd-files.ts';

const RUNS = Number(process.env.GW_FUZZ_RUNS ?? 120);
const NAMES = Object.keys(FORMATS) as FormatName[];

describe.each(NAMES)('an edit of any %s file', (name) => {
  const changes = fc.subarray([...CHANGES[name]], { minLength: 1 });

  test('sets its values and keeps all other lines', () => {
    fc.assert(
      fc.property(oddText(name), changes, (text, wanted) => {
        const { bytes } = writeValues(name, Buffer.from(text), wanted);
        const edited = bytes.toString();
        const value = FORMATS[name].parse(edited.replace('\ufeff', ''));
        for (const { path, value: written } of wanted) expect(valueAt(value, path) ?? null).toEqual(written);
        expect(edited.startsWith('\ufeff')).toBe(text.startsWith('\ufeff'));
        expect(endingsOf(edited, text)).toEqual(endingsOf(text, edited));
        for (const comment of text.match(/(?:#|\/\/) a note|TODO: .*/g) ?? [])
          expect(edited).toContain(comment);
      }),
      { numRuns: RUNS },
    );
  });

  test('is taken back to the value that was there', () => {
    fc.assert(
      fc.property(oddText(name), changes, (text, wanted) => {
        const { bytes, values } = writeValues(name, Buffer.from(text), wanted);
        const { bytes: restored, left } = restoreValues(name, bytes, { values });
        expect(left).toEqual([]);
        expect(changedValues(name, restored, values).length).toBe(values.filter(isChange).length);
        if (!isLoose(text) && values.every((each) => each.value !== null))
          expect(restored.toString()).toBe(text);
      }),
      { numRuns: RUNS },
    );
  });
});

test('what is added ends as the text ended whose only line ending was in a replaced value', () => {
  const { bytes } = writeValues('dotenv', Buffer.from('ADDRESS="two\r\nlines"'), CHANGES.dotenv);
  expect(bytes.toString().split('\r\n').slice(0, 3)).toEqual([
    'ADDRESS=http://localhost:4747',
    'TOKEN=sk-gw-key',
    "NOTE='two words # and a sign'",
  ]);
});

/** Whether a write changed anything: the value may have been there. */
function isChange({ former, value }: { former: string | null; value: unknown }): boolean {
  return former === null ? value !== null : former !== JSON.stringify(value);
}

/** Texts with containers that are empty or one line long: spacing inside of them may differ after an edit by values. */
function isLoose(text: string): boolean {
  return /\{\s*\}|\[\s*\]|\{ \/\*/.test(text) || text.trim() === '' || !/^[\ufeff\s]*[{\w[-]/m.test(text);
}

function endingsOf(text: string, other: string): string[] {
  const kinds = [...new Set(text.match(/\r?\n/g) ?? [])];
  // A text of one line has none.
  return other.includes('\n') ? kinds : [];
}
