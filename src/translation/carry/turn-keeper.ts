import type { AnswerEvent } from '../conversation/answer.ts';
import type { Seal } from '../conversation/conversation.ts';
import type { Json } from '../json.ts';
import { turnId } from './item-memory.ts';

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
