import type { Clock } from '../../clock.ts';
import { BLOCK_KINDS, type PromptBlock } from '../../wire/request/prompt-block.ts';

/** A prompt that a provider has counted. */
export interface PromptBase {
  /** A number for each block: equal blocks have equal numbers. */
  blocks: Int32Array;
  /** The blocks' places in BLOCK_KINDS. */
  kinds: Uint8Array;
  /** The input tokens that the provider reported. */
  tokens: number;
  /** Bytes of the request's body. */
  bytes: number;
  /** White space at the end of the last text, which a template may have removed. */
  trailingSpace: number;
  /** The provider rendered the prompt's reasoning in full, as far as it ever will. */
  keepsReasoning: boolean;
}

/** The scope of a base: within it, nothing but the blocks changes how a prompt is rendered or counted. */
export interface BaseScope {
  /** The provider, its address, the credential and the model's name. */
  model: string;
  /** All of the request that is no block. */
  key: string;
}

/** A base before its blocks are numbered. */
export interface NewBase extends Pick<PromptBase, 'tokens' | 'bytes' | 'trailingSpace' | 'keepsReasoning'> {
  blocks: readonly PromptBlock[];
}

/** The answer that reported a base's tokens. */
interface BaseSource {
  /** The model that the answer names. */
  served: string;
  /** How long the base counts, in milliseconds: a name without a date may be given to another model. */
  lifetimeMs: number;
}

/** Smaller requests are remembered only where money is short. */
export const SMALL_BYTES = 2_048;

/** The prompts that providers have counted, for bounds of later ones. In memory only: forgetting one is always safe. */
export type PromptBases = ReturnType<typeof createPromptBases>;

/*
 * Bases take at most some 16 MB: 100,000 places at 5 bytes, and as many distinct blocks at 150 bytes, though the bases of
 * a session share nearly all of theirs. Seals take 3 MB.
 */
const MAX_PLACES = 100_000;
const MAX_SEALS = 20_000;
/** Number of recently used bases to keep in each scope: one for each of so many sessions at once ... */
const RECENT = 32;
/** ... and the smallest, for sessions that begin. */
const SMALL = 8;

interface KeptBase extends PromptBase {
  ids: readonly string[];
  expiresAt: number;
  /** Grows with each use of any base. */
  usedAt: number;
}

interface Model {
  served: string;
  scopes: Map<string, KeptBase[]>;
  /** Number of bases with less than SMALL_BYTES. */
  small: number;
}

interface Numbered {
  number: number;
  uses: number;
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: short functions over the same few maps
export function createPromptBases(clock: Pick<Clock, 'monotonic'>) {
  const models = new Map<string, Model>();
  const numbers = new Map<string, Numbered>();
  const seals = new Map<string, number>();
  let lastNumber = 0;
  let places = 0;
  let uses = 0;
  let version = 0;

  function numberOf(id: string): number {
    const known = numbers.get(id);
    if (known) {
      known.uses++;
      return known.number;
    }
    lastNumber++;
    numbers.set(id, { number: lastNumber, uses: 1 });
    return lastNumber;
  }

  function release({ ids }: KeptBase): void {
    places -= ids.length;
    for (const id of ids) {
      const known = numbers.get(id);
      if (known && --known.uses === 0) numbers.delete(id);
    }
  }

  function forgetModel(name: string): void {
    for (const bases of models.get(name)?.scopes.values() ?? []) for (const base of bases) release(base);
    models.delete(name);
  }

  function drop(model: Model, key: string, base: KeptBase): void {
    release(base);
    if (base.bytes < SMALL_BYTES) model.small--;
    const left = model.scopes.get(key)?.filter((each) => each !== base) ?? [];
    if (left.length > 0) model.scopes.set(key, left);
    else model.scopes.delete(key);
  }

  /** The base of a scope that was used longest ago, but for the smallest ones. */
  function leastUsed(bases: readonly KeptBase[]): KeptBase | undefined {
    const small = new Set([...bases].sort((a, b) => a.tokens - b.tokens).slice(0, SMALL));
    return bases.filter((base) => !small.has(base)).reduce<KeptBase | undefined>(older, undefined);
  }

  function makeRoom(): void {
    while (places > MAX_PLACES) {
      let oldest: { model: Model; name: string; key: string; base: KeptBase } | undefined;
      for (const [name, model] of models) {
        for (const [key, bases] of model.scopes) {
          const base = bases.reduce(older);
          if (!oldest || base.usedAt < oldest.base.usedAt) oldest = { model, name, key, base };
        }
      }
      if (!oldest) return;
      drop(oldest.model, oldest.key, oldest.base);
      if (oldest.model.scopes.size === 0) models.delete(oldest.name);
    }
  }

  return {
    /** Grows whenever a base is added. */
    get version(): number {
      return version;
    },
    /** Whether any base of a model's name has less than SMALL_BYTES. */
    hasSmall: (name: string): boolean => (models.get(name)?.small ?? 0) > 0,
    /** The numbers of the blocks in the bases; 0 for a block that no base has. */
    numbersOf(prompt: readonly PromptBlock[]): Int32Array {
      const found = new Int32Array(prompt.length);
      for (let i = 0; i < prompt.length; i++) found[i] = numbers.get(prompt[i]?.id ?? '')?.number ?? 0;
      return found;
    },
    /** The bases of a scope, the latest used first. */
    find({ model: name, key }: BaseScope): readonly PromptBase[] {
      const model = models.get(name);
      const bases = model?.scopes.get(key);
      if (!model || !bases) return NO_BASES;
      const now = clock.monotonic();
      for (const base of bases) if (base.expiresAt <= now) drop(model, key, base);
      return (model.scopes.get(key) ?? NO_BASES).toSorted((a, b) => b.usedAt - a.usedAt);
    },
    /** Keeps a base that was of use longer than others. */
    touch(base: PromptBase): void {
      (base as KeptBase).usedAt = ++uses;
    },
    /** Forgets all bases of the model's name first if another model has answered to it before. */
    remember({ model: name, key }: BaseScope, added: NewBase, { served, lifetimeMs }: BaseSource): void {
      const { blocks, tokens, bytes, trailingSpace, keepsReasoning } = added;
      const before = models.get(name);
      if (before && before.served !== served) forgetModel(name);
      const model = models.get(name) ?? { served, scopes: new Map<string, KeptBase[]>(), small: 0 };
      models.set(name, model);
      const ids = blocks.map(({ id }) => id);
      const bases = model.scopes.get(key) ?? [];
      const same = bases.find(
        (base) => base.ids.length === ids.length && base.ids.every((id, i) => id === ids[i]),
      );
      const expiresAt = clock.monotonic() + lifetimeMs;
      if (same) {
        // The larger of two counts is safe: some reports leave out the input that was read from a cache.
        same.tokens = Math.max(tokens, same.tokens);
        same.keepsReasoning &&= keepsReasoning;
        same.expiresAt = expiresAt;
        same.usedAt = ++uses;
        return;
      }
      const base: KeptBase = {
        ids,
        blocks: Int32Array.from(ids, numberOf),
        kinds: Uint8Array.from(blocks, ({ kind }) => BLOCK_KINDS.indexOf(kind)),
        tokens,
        bytes,
        trailingSpace,
        keepsReasoning,
        expiresAt,
        usedAt: ++uses,
      };
      if (bytes < SMALL_BYTES) model.small++;
      places += ids.length;
      version++;
      const kept = [...bases, base];
      model.scopes.set(key, kept);
      const surplus = kept.length > RECENT + SMALL ? leastUsed(kept) : undefined;
      if (surplus) drop(model, key, surplus);
      makeRoom();
    },
    /** Forgets all bases of a model's name: another model has answered to it. */
    forget: forgetModel,
    /** Upper bound of the tokens of sealed reasoning, by a hash of the seal; undefined if gw didn't see its answer. */
    sealedTokens: (seal: string): number | undefined => seals.get(seal),
    rememberSeal(seal: string, tokens: number): void {
      if (seals.size >= MAX_SEALS) for (const oldest of seals.keys()) if (seals.delete(oldest)) break;
      // The larger of two counts: a provider may give the same seal out twice.
      seals.set(seal, Math.max(tokens, seals.get(seal) ?? 0));
    },
  };
}

const NO_BASES: readonly KeptBase[] = [];

function older<T extends { usedAt: number }>(least: T | undefined, base: T): T {
  return least === undefined || base.usedAt < least.usedAt ? base : least;
}
