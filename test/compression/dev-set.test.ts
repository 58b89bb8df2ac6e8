import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { splitBlocks } from '../../src/compression/blocks/blocks.ts';
import { encodeRecords } from '../../src/compression/json/encode.ts';
import { readJson } from '../../src/compression/json/read.ts';
import { restoreChat, shortenChat } from '../../src/compression/transforms/chat/chat.ts';
import { encodeLog } from '../../src/compression/transforms/log/encode.ts';
import { foldRepeats } from '../../src/compression/transforms/text/repeated-lines.ts';
import { canonical, withoutPadding } from './canonical.ts';
import { decodeLog } from './decode/log.ts';
import { decodeRecords } from './decode/records.ts';
import { restoreRepeats } from './decode/repeated-lines.ts';

const folder = join(resolve(process.env.GW_SHARED ?? '../shared'), 'optimizer-eval', 'dev');
const present = existsSync(folder);

/** Every text of the evaluation set's messages. */
function texts(): string[] {
  return readdirSync(folder).flatMap((name) =>
    readFileSync(join(folder, name), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .flatMap((line) => (JSON.parse(line) as { messages: { content: unknown }[] }).messages)
      .flatMap(({ content }) => (typeof content === 'string' ? [content] : [])),
  );
}

describe.skipIf(!present)(
  `every text of the evaluation set${present ? '' : ` (skipped: no ${folder}; set GW_SHARED)`}`,
  () => {
    const all = present ? [...new Set(texts())] : [];

    it('is its blocks, joined', { timeout: 120_000 }, () => {
      for (const text of all)
        expect(
          splitBlocks(text, 'words')
            .map((block) => block.text)
            .join(''),
        ).toBe(text);
    });

    it('comes back from records as the same JSON value', {
      timeout: 120_000,
    }, () => {
      let count = 0;
      for (const text of all) {
        const json = readJson(text);
        if (!json || typeof json.value === 'string') continue;
        expect(canonical(decodeRecords(encodeRecords(json.value)))).toBe(canonical(json.value));
        count++;
      }
      expect(count).toBeGreaterThan(50);
    });

    it('comes back from log patterns line by line', { timeout: 120_000 }, () => {
      for (const text of all) {
        for (const keepTimes of [false, true]) {
          const encoded = encodeLog(text, { keepTimes });
          if (encoded) expect(withoutPadding(decodeLog(encoded.text))).toBe(withoutPadding(text));
        }
      }
    });

    it('comes back from a shortened chat', () => {
      for (const text of all) expect(restoreChat(shortenChat(text, { level: 'balanced' }))).toBe(text);
    });

    it('comes back from folded repeats', { timeout: 120_000 }, () => {
      for (const text of all) expect(restoreRepeats(foldRepeats(text))).toBe(text);
    });
  },
);
