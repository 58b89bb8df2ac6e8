import { splitBlocks } from '../blocks/blocks.ts';
import { isMarked, splitAtKeeps } from '../prompt/marks.ts';
import type { Origin } from '../prompt/message.ts';
import { keysNamedBy } from '../prompt/question.ts';
import type { History } from '../repeats/history.ts';
import { referToAnswer, referToEarlier } from '../repeats/references.ts';
import { frameChat, shortenChat } from '../transforms/chat/chat.ts';
import { dropFiller, thinTranscript } from '../transforms/chat/transcript.ts';
import { dropExemplars } from '../transforms/documents/exemplars.ts';
import { frameDocuments } from '../transforms/documents/frame.ts';
import { selectDocuments } from '../transforms/documents/select.ts';
import { minifySchemas } from '../transforms/json/compress-json.ts';
import type { Scope } from '../transforms/scope.ts';
import { BlockRewriter, isPaste, Trace } from './rewrite-block.ts';

/** A reference may take at most this share of the length of its text. */
const REFERENCE_WORTH = 0.8;

interface Outcome {
  text: string;
  exact: boolean;
  /** Each line has its line in the output. */
  inPlace: boolean;
}

/** Rewrites the texts of one message. `commit` then adds them to the history. */
export class Rewriter {
  readonly #origin: Origin;
  readonly #scope: Scope;
  readonly #history: History;
  readonly #trace = new Trace();
  readonly #blocks: BlockRewriter;
  readonly #outcomes: Outcome[] = [];

  constructor(origin: Origin, { level, question }: Pick<Scope, 'level' | 'question'>, history: History) {
    this.#origin = origin;
    this.#history = history;
    this.#scope = {
      level,
      question,
      fromTool: origin.role === 'tool',
      keepKey: keysNamedBy(question),
      leaveOut: () => {
        this.#trace.exact = false;
      },
    };
    this.#blocks = new BlockRewriter(this.#scope, this.#trace);
  }

  /** The transforms that changed something. */
  get used(): ReadonlySet<string> {
    return this.#trace.used;
  }

  rewrite(text: string): string {
    if (isMarked(text)) return text;
    const pieces = splitAtKeeps(text);
    if (pieces.length > 1)
      return pieces.map((piece) => (piece.keep ? piece.text : this.#rewritePiece(piece.text))).join('');
    return this.#rewritePiece(text);
  }

  /** Adds the message's texts to the history; `kept`: the rewritten message is sent. */
  commit(kept: boolean): void {
    for (const { text, exact, inPlace } of this.#outcomes) {
      this.#history.add(text, this.#origin.source, {
        exact: exact || !kept,
        inPlace: inPlace || !kept,
        byUser: this.#origin.role === 'user',
      });
    }
  }

  #rewritePiece(piece: string): string {
    const { role, path } = this.#origin;
    if (role === 'assistant') return this.#rewriteAnswer(piece);
    const text = this.#leaveOutWhole(piece);
    if (role === 'system') return text === piece ? this.#note('schemas', text, minifySchemas(text)) : text;
    if (text !== piece) return text;
    // A tool result is referred to as a whole; a user message by each pasted block.
    if (role === 'tool') return this.#referOr(text, () => this.#blocks.rewriteResult(text, path));
    const documents = frameDocuments(text);
    if (!documents) return this.#rewritePastes(text);
    const { head, framed, tail } = documents;
    const between = this.#referOr(documents.documents, () => this.#note('documents', text, framed));
    return this.#rewritePastes(head) + between + this.#rewritePastes(tail);
  }

  /** Answers are remembered because users paste them back. They get no marks: the model would imitate them. */
  #rewriteAnswer(text: string): string {
    const output = this.#scope.level === 'balanced' ? this.#note('filler', text, dropFiller(text)) : text;
    this.#outcomes.push({ text, exact: output === text, inPlace: output === text });
    return output;
  }

  /** Transforms of a whole text: drops examples beyond the first ones, irrelevant documents and small talk. */
  #leaveOutWhole(text: string): string {
    const { level, question } = this.#scope;
    const { role, path } = this.#origin;
    if (level !== 'balanced' || path !== undefined) return text;
    if (role !== 'tool') {
      const shorter = this.#note('examples', text, dropExemplars(text));
      if (role === 'system' || shorter !== text) return shorter;
    }
    const chosen = this.#note('documents', text, selectDocuments(text, question?.text, role === 'user'));
    if (chosen !== text) return chosen;
    const thin = this.#note('small-talk', text, thinTranscript(text, question));
    return thin === text ? text : this.#note('chat', thin, shortenChat(thin, this.#scope));
  }

  #rewritePastes(text: string): string {
    if (this.#scope.question?.wantsFile) return text;
    const framed = frameChat(text, this.#scope.level);
    if (framed) {
      const { head, chat, written, tail } = framed;
      const between = this.#referOr(chat, () => this.#note('chat', chat, written));
      return this.#rewritePastes(head) + between + this.#rewritePastes(tail);
    }
    return splitBlocks(text, 'words')
      .map((block) => {
        if (block.kind === 'words') return this.#rewriteWords(block.text);
        if (!isPaste(block, this.#scope.level)) return block.text;
        return this.#referOr(block.text, () => this.#blocks.rewrite(block));
      })
      .join('');
  }

  /** Replaces quotes of an earlier answer by references; everything else is the user's own words. */
  #rewriteWords(text: string): string {
    const reference = this.#worthIt(referToAnswer(text, this.#history), text);
    return reference === undefined ? text : this.#note('repeated', text, reference);
  }

  #referOr(text: string, otherwise: () => string): string {
    const reference = this.#worthIt(referToEarlier(text, this.#origin.source, this.#history), text);
    this.#trace.begin();
    const output = reference === undefined ? otherwise() : this.#note('repeated', text, reference);
    this.#outcomes.push({ text, exact: this.#trace.exact, inPlace: this.#trace.inPlace });
    return output;
  }

  #worthIt(reference: string | undefined, text: string): string | undefined {
    if (reference === undefined || reference.length >= text.length * REFERENCE_WORTH) return undefined;
    // A block ends with a newline; without one the reference would run into the next block.
    return text.endsWith('\n') ? `${reference}\n` : reference;
  }

  #note(transform: string, before: string, after: string): string {
    return this.#trace.note(transform, before, after);
  }
}
