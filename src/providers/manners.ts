import { isObject } from '../json/object.ts';

/** What a provider refuses: a field of a request that gw adds, or a model in any API but /v1/responses. */
export type Manner = { refuses: string } | { needs: 'responses' };

/** A refusal that is remembered, as it is shown. */
export interface Learnt {
  model: string;
  /** The field that it refuses; null: it is served by /v1/responses alone. */
  field: string | null;
  /** ISO 8601. */
  until: string;
}

/** What a refusal says of its model. */
export const learntText = ({ model, field }: Learnt): string =>
  `${model} ${field === null ? 'is served by /v1/responses alone' : `refuses ${field}`}`;

/** How long a refusal is remembered: the provider may be updated. */
export const REMEMBERED_MS = 86_400_000;

/** The name under which a refusal is kept: `mistral/m refuses user`. */
export function mannerName(provider: string, model: string, manner: Manner): string {
  const what = 'refuses' in manner ? `refuses ${manner.refuses}` : `needs ${manner.needs}`;
  return `${provider}/${model} ${what}`;
}

/** When each refusal was last seen, UTC milliseconds, by its name, in a snapshot of any form. */
export function mannersIn(snapshot: unknown): [string, number][] {
  return Object.entries(isObject(snapshot) ? snapshot : {}).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number',
  );
}

const NAME = /^(.*) (?:refuses (\S+)|needs responses)$/;

/** What of a provider is remembered at a time. */
export function learntOf(provider: string, seen: Iterable<[string, number]>, now: number): Learnt[] {
  return [...seen].flatMap(([name, at]) => {
    const [, model, field] = NAME.exec(name.slice(provider.length + 1)) ?? [];
    if (!name.startsWith(`${provider}/`) || model === undefined || now - at >= REMEMBERED_MS) return [];
    return [{ model, field: field ?? null, until: new Date(at + REMEMBERED_MS).toISOString() }];
  });
}
