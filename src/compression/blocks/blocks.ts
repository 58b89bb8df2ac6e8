import { joinLines } from '../prompt/lines.ts';
import type { Block } from './block.ts';
import { closers, openerAt } from './block-openers.ts';
import { plainBlocks } from './machine-runs.ts';

/** Splits a text into blocks. Concatenated, the blocks are the text again. */
export function splitBlocks(text: string, plainIs: 'words' | 'data'): Block[] {
  const lines = text.split('\n');
  const blocks: Block[] = [];
  let plainFrom = 0;
  let at = 0;
  const close = closers(lines);
  const flushPlain = (end: number) => {
    if (end > plainFrom) blocks.push(...plainBlocks(lines, plainFrom, end, plainIs));
  };
  while (at < lines.length) {
    const opener = openerAt(lines, at, close);
    if (!opener) {
      at++;
      continue;
    }
    flushPlain(at + 1);
    if (opener.end > at + 1) blocks.push(opener.block(joinLines(lines, at + 1, opener.end)));
    plainFrom = opener.end;
    at = opener.end + 1;
  }
  flushPlain(lines.length);
  return mergeWords(blocks);
}

function mergeWords(blocks: readonly Block[]): Block[] {
  const merged: Block[] = [];
  for (const block of blocks) {
    const last = merged.at(-1);
    if (block.kind === 'words' && last?.kind === 'words') last.text += block.text;
    else merged.push(block);
  }
  return merged;
}
