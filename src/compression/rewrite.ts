import { foldBlobs } from './blobs.ts';
import { type Block, splitBlocks } from './blocks.ts';
import { foldCode, type SourceFile } from './code-fold.ts';
import { frameDocuments } from './documents-frame.ts';
import { selectDocuments } from './documents-select.ts';
import { dropExemplars } from './exemplars.ts';
import { dropFiller } from './filler.ts';
import type { History } from './history.ts';
import { readHtml } from './html.ts';
import { compressJson } from './json.ts';
import { unpadNumbers } from './line-numbers.ts';
import { groupListing } from './listing.ts';
import { compressLog } from './log.ts';
import { isSource } from './log-lines.ts';
import { lookUp } from './lookup.ts';
import { isMarked, splitAtKeeps } from './marks.ts';
import { keysNamedBy } from './question.ts';
import { referToAnswer, referToEarlier } from './repeat.ts';
import { foldRepeats } from './repeat-within.ts';
import { minifySchemas } from './schemas.ts';
import type { Level, Scope, Transform } from './scope.ts';
import { foldSpeakers } from './speakers.ts';
import { cleanTerminal } from './terminal.ts';
import { dropPassed } from './test-runs.ts';
import { thinTranscript } from './transcript.ts';

/** What data goes through, in order. */
const VALUES: readonly Transform[] = [
  { name: 'terminal', apply: cleanTerminal },
  { name: 'html', apply: readHtml },
  { name: 'base64', apply: foldBlobs },
  { name: 'json', apply: compressJson },
];

/** What lines go through that are not code. */
const LINES: readonly Transform[] = [
  { name: 'look-up', apply: lookUp },
  { name: 'listing', apply: groupListing },
  { name: 'passed-tests', apply: dropPassed },
  { name: 'repeated-lines', apply: foldRepeats },
  { name: 'log', apply: compressLog },
];

/** Transforms that mark single places, so that the rest is still data for others. */
const MARKS_FEW = new Set(['passed-tests', 'repeated-lines', 'base64']);

/** A reference must be so much shorter than what it stands for. */
const REFERENCE_WORTH = 0.8;

/** The one transform that leaves every line in its place. */
const LINE_NUMBERS = 'line-numbers';

/** Where a message's text is from, and so what may be done with it. */
export interface Origin {
  role: 'system' | 'user' | 'assistant' | 'tool';
  /** How a later message may refer to it, such as the tool call that it answers. */
  source: string;
  /** The tool that printed it. */
  tool?: string;
  /** The file that was read, whose lines may be edited next. */
  path?: string;
}

interface Outcome {
  text: string;
  output: string;
  exact: boolean;
  /** Every line has its line in the output. */
  inPlace: boolean;
}

/** Rewrites the texts of one message and, once it is known whether that is kept, tells the history. */
export class Rewriter {
  readonly used = new Set<string>();
  readonly #origin: Origin;
  readonly #scope: Scope;
  readonly #history: History;
  readonly #outcomes: Outcome[] = [];
  #exact = true;
  #inPlace = true;

  constructor(origin: Origin, { level, question }: Pick<Scope, 'level' | 'question'>, history: History) {
    this.#origin = origin;
    this.#history = history;
    this.#scope = {
      level,
      question,
      fromTool: origin.role === 'tool',
      keepKey: keysNamedBy(question),
      modelOf: (value) => history.modelOf(value),
      leaveOut: () => {
        this.#exact = false;
      },
    };
  }

  rewrite(text: string): string {
    if (isMarked(text)) return text;
    return splitAtKeeps(text)
      .map((piece) => (piece.keep ? piece.text : this.#rewritePiece(piece.text)))
      .join('');
  }

  /** Adds the message's texts to what later ones can refer to. */
  settle(kept: boolean): void {
    for (const { text, output, exact, inPlace } of this.#outcomes) {
      this.#history.add(text, this.#origin.source, kept ? output : text, {
        exact: exact || !kept,
        inPlace: inPlace || !kept,
        tool: this.#origin.tool,
        byUser: this.#origin.role === 'user',
      });
    }
  }

  #rewritePiece(piece: string): string {
    if (this.#origin.role === 'assistant') return this.#rewriteAnswer(piece);
    const text = this.#leaveOutWhole(piece);
    if (this.#origin.role === 'system')
      return text !== piece ? text : this.#note('schemas', text, minifySchemas(text));
    const spoken = foldSpeakers(text);
    if (text !== piece) return this.#note('speakers', text, spoken);
    if (spoken !== text) return this.#referOr(text, () => this.#note('speakers', text, spoken));
    // A tool's result is one thing to refer to; in a user's message each pasted block is.
    if (this.#origin.role === 'tool') return this.#referOr(text, () => this.#rewriteBlocks(text));
    const documents = frameDocuments(text);
    if (!documents) return this.#rewritePastes(text);
    const { head, framed, tail } = documents;
    const between = this.#referOr(documents.documents, () => this.#note('documents', text, framed));
    return this.#rewritePastes(head) + between + this.#rewritePastes(tail);
  }

  #rewritePastes(text: string): string {
    return splitBlocks(text, 'words')
      .map((block) => {
        if (this.#scope.question?.wantsFile) return block.text;
        if (block.kind === 'words') return this.#rewriteWords(block.text);
        if (!isPaste(block, this.#scope.level)) return block.text;
        return this.#referOr(block.text, () => this.#rewriteBlock(block));
      })
      .join('');
  }

  /** What concerns a whole text: documents that say nothing to the question, examples beyond the first. */
  #leaveOutWhole(text: string): string {
    const { level, question } = this.#scope;
    const { role, path } = this.#origin;
    if (level !== 'balanced' || path !== undefined) return text;
    if (role !== 'tool') {
      const shorter = this.#note('examples', text, dropExemplars(text));
      if (role === 'system' || shorter !== text) return shorter;
    }
    const chosen = this.#note('documents', text, selectDocuments(text, question?.text, role === 'user'));
    return chosen === text ? this.#note('small-talk', text, thinTranscript(text, question)) : chosen;
  }

  #rewriteBlocks(text: string): string {
    const { path } = this.#origin;
    if (path !== undefined) return this.#foldCode(text, { path, mayBeEdited: true });
    const documents = frameDocuments(text);
    if (documents) return documents.head + this.#note('documents', text, documents.framed) + documents.tail;
    return splitBlocks(text, 'data')
      .map((block) => this.#rewriteBlock(block))
      .join('');
  }

  #referOr(text: string, otherwise: () => string): string {
    const reference = referToEarlier(text, this.#origin.source, this.#history);
    if (reference !== undefined && reference.length < text.length * REFERENCE_WORTH) {
      this.used.add('repeated');
      // A block ends with its line, and the reference must not run into the next.
      const output = text.endsWith('\n') ? `${reference}\n` : reference;
      this.#outcomes.push({ text, output, exact: true, inPlace: false });
      return output;
    }
    this.#exact = true;
    this.#inPlace = true;
    const output = otherwise();
    this.#outcomes.push({ text, output, exact: this.#exact, inPlace: this.#inPlace });
    return output;
  }

  #rewriteBlock(block: Block): string {
    if (!isPaste(block, this.#scope.level)) return block.text;
    if (isDiff(block.text)) return block.text;
    if (block.kind === 'code') return this.#foldCode(block.text, block);
    const values = this.#run(VALUES, block.text);
    if (values.done) return values.text;
    const text = this.#note(LINE_NUMBERS, values.text, unpadNumbers(values.text, this.#scope.question));
    return text !== values.text || isSource(text) ? text : this.#run(LINES, text).text;
  }

  /** Runs transforms until one has marked the text: the others would take its marks for data. */
  #run(transforms: readonly Transform[], text: string): { text: string; done: boolean } {
    let current = text;
    for (const { name, apply } of transforms) {
      current = this.#note(name, current, apply(current, this.#scope));
      if (isMarked(current) && !MARKS_FEW.has(name)) return { text: current, done: true };
    }
    return { text: current, done: false };
  }

  /** An answer is only remembered, as users paste it back, and loses its polite phrases at most. */
  #rewriteAnswer(text: string): string {
    const output = this.#scope.level === 'balanced' ? this.#note('filler', text, dropFiller(text)) : text;
    this.#outcomes.push({ text, output, exact: output === text, inPlace: output === text });
    return output;
  }

  /** What a user pastes of an earlier answer refers to it; all else are their own words. */
  #rewriteWords(text: string): string {
    const reference = referToAnswer(text, this.#history);
    if (reference === undefined || reference.length >= text.length * REFERENCE_WORTH) return text;
    this.used.add('repeated');
    return text.endsWith('\n') ? `${reference}\n` : reference;
  }

  #foldCode(text: string, file: SourceFile): string {
    const { level, question } = this.#scope;
    const plain = file.fenced ? text : this.#note(LINE_NUMBERS, text, unpadNumbers(text, question));
    if (level !== 'balanced') return plain;
    const folded = this.#note('code', plain, foldCode(plain, file, question));
    if (folded !== plain) this.#scope.leaveOut();
    return folded;
  }

  #note(name: string, before: string, after: string): string {
    if (after === before) return after;
    this.used.add(name);
    if (name !== LINE_NUMBERS) this.#inPlace = false;
    return after;
  }
}

/**
 * Words are the writer's own, and so is fenced code: its bytes never change. Level `balanced` only may fold
 * or refer to a whole file that is fenced under its name, since half of what is pasted to be asked about
 * comes so; the lines that stay are still byte for byte.
 */
function isPaste(block: Block, level: Level): boolean {
  if (block.kind !== 'code' || !block.fenced) return block.kind !== 'words';
  return level === 'balanced' && block.path !== undefined;
}

/** Every line of a diff is meant as it is. */
function isDiff(text: string): boolean {
  return /^@@ -\d+/m.test(text);
}
