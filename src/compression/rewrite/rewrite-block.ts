import { type Block, splitBlocks } from '../blocks/blocks.ts';
import { isSource } from '../blocks/line-kinds.ts';
import { isMarked } from '../prompt/marks.ts';
import { shortenChat } from '../transforms/chat/chat.ts';
import { foldCode, type SourceFile } from '../transforms/code/fold.ts';
import { unpadNumbers } from '../transforms/code/line-numbers.ts';
import { frameDocuments } from '../transforms/documents/frame.ts';
import { compressJson } from '../transforms/json/compress-json.ts';
import { compressLog } from '../transforms/log/compress-log.ts';
import type { Level, Scope, Transform } from '../transforms/scope.ts';
import { groupListing } from '../transforms/text/listing.ts';
import { lookUp } from '../transforms/text/look-up.ts';
import { foldRepeats } from '../transforms/text/repeated-lines.ts';
import { cleanTerminal } from '../transforms/text/terminal.ts';

/** The only transform that keeps every line in its place. */
const IN_PLACE = 'line-numbers';

/** The transforms applied to a message, and how complete its current text still is. */
export class Trace {
  readonly used = new Set<string>();
  /** Nothing of the text was left out. */
  exact = true;
  /** Each line has its line in the output. */
  inPlace = true;

  begin(): void {
    this.exact = true;
    this.inPlace = true;
  }

  /** Returns the text after a transform, and records the transform if it changed the text. */
  note(transform: string, before: string, after: string): string {
    if (after === before) return after;
    this.used.add(transform);
    if (transform !== IN_PLACE) this.inPlace = false;
    return after;
  }
}

/** Transforms for lines that are not code, in order. */
const LINES: readonly Transform[] = [
  { name: 'look-up', apply: lookUp },
  { name: 'listing', apply: groupListing },
  { name: 'repeated-lines', apply: foldRepeats },
  { name: 'log', apply: compressLog },
  { name: 'chat', apply: shortenChat },
];

/** The transform that only marks single places; the rest of the text stays data for the others. */
const MARKS_FEW = 'repeated-lines';

/** Rewrites a block by its kind, whatever message contains it. */
export class BlockRewriter {
  readonly #scope: Scope;
  readonly #trace: Trace;

  constructor(scope: Scope, trace: Trace) {
    this.#scope = scope;
    this.#trace = trace;
  }

  /** Rewrites a tool result: all of it is data, or source if a file was read. */
  rewriteResult(text: string, path: string | undefined): string {
    if (path !== undefined) return this.#foldCode(text, { path, mayBeEdited: true });
    const documents = frameDocuments(text);
    if (documents)
      return documents.head + this.#trace.note('documents', text, documents.framed) + documents.tail;
    return splitBlocks(text, 'data')
      .map((block) => this.rewrite(block))
      .join('');
  }

  rewrite(block: Block): string {
    if (!isPaste(block, this.#scope.level) || isDiff(block.text)) return block.text;
    if (block.kind === 'code') return this.#foldCode(block.text, block);
    const shown = this.#trace.note('terminal', block.text, cleanTerminal(block.text, this.#scope));
    const values = this.#trace.note('json', shown, compressJson(shown, this.#scope));
    if (isMarked(values)) return values;
    const text = this.#unpad(values);
    return text !== values || isSource(text) ? text : this.#rewriteLines(text);
  }

  /** Runs transforms until one has marked the text: later ones would take its marks for data. */
  #rewriteLines(text: string): string {
    let current = text;
    for (const { name, apply } of LINES) {
      current = this.#trace.note(name, current, apply(current, this.#scope));
      if (isMarked(current) && name !== MARKS_FEW) return current;
    }
    return current;
  }

  #foldCode(text: string, file: SourceFile): string {
    const { level, question } = this.#scope;
    const plain = file.fenced ? text : this.#unpad(text);
    if (level !== 'balanced') return plain;
    const folded = this.#trace.note('code', plain, foldCode(plain, file, question));
    if (folded !== plain) this.#scope.leaveOut();
    return folded;
  }

  #unpad(text: string): string {
    const { level, question } = this.#scope;
    return level === 'balanced' ? this.#trace.note('line-numbers', text, unpadNumbers(text, question)) : text;
  }
}

/**
 * Whether a block was pasted and may be rewritten. Words and fenced code are the author's own and keep their bytes.
 * Only `balanced` may fold or refer to a whole file that is fenced under its name, as files are often pasted; the
 * lines that stay keep their bytes.
 */
export function isPaste(block: Block, level: Level): boolean {
  if (block.kind !== 'code' || !block.fenced) return block.kind !== 'words';
  return level === 'balanced' && block.path !== undefined;
}

/** Diffs stay as they are: every line counts. */
const isDiff = (text: string): boolean => /^@@ -\d+/m.test(text);
