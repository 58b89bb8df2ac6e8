import type { RequestContext } from '../context.ts';
import type { AnswerEvent } from '../conversation/answer.ts';
import { isCall, isReasoning, type Part, type Seal, type Turn } from '../conversation/conversation.ts';
import type { Json } from '../json.ts';
import { reasoningIn, turnId } from './item-memory.ts';

/**
 * Keeps the reasoning of a turn with calls under the id of its first call, for clients that bring back no more than the
 * ids.
 */
export class TurnKeeper {
  readonly #owner: string;
  readonly #remember: (item: Json) => void;
  #text = '';
  readonly #seals: Seal[] = [];
  #firstCall: string | undefined;

  constructor(owner: string, remember: (item: Json) => void) {
    this.#owner = owner;
    this.#remember = remember;
  }

  note(event: AnswerEvent): void {
    switch (event.type) {
      case 'reasoning':
        this.#text += event.text;
        return;
      case 'seal':
        this.#seals.push(event.seal);
        return;
      case 'call':
        this.#firstCall ??= event.id;
        return;
      case 'end':
        this.#keep();
    }
  }

  #keep(): void {
    if (this.#firstCall === undefined || (this.#text === '' && this.#seals.length === 0)) return;
    const plain: Seal[] = this.#text === '' ? [] : [{ kind: 'text', values: [{ text: this.#text }] }];
    const seals = [...plain, ...this.#seals];
    this.#remember({ id: turnId(this.#owner, this.#firstCall), text: this.#text, seals });
  }
}

/** The turns with the reasoning of calls that the client has dropped, as far as it was kept. */
export function withKeptReasoning(
  turns: readonly Turn[],
  owner: string,
  { recall }: Pick<RequestContext, 'recall'>,
): Turn[] {
  return turns.map((turn) => {
    const calls = turn.parts.filter(isCall);
    if (calls.length === 0 || turn.parts.some(isSealed)) return turn;
    for (const { id } of calls) {
      const kept = reasoningIn(recall(turnId(owner, id)));
      if (kept) return { ...turn, parts: [kept, ...turn.parts.filter((part) => !isReasoning(part))] };
    }
    return turn;
  });
}

/** Whether more than the text of some reasoning has come back. */
const isSealed = (part: Part): boolean => isReasoning(part) && part.seals.some(({ kind }) => kind !== 'text');
