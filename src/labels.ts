import { badRequest } from './errors.ts';
import { isObject } from './json/object.ts';

/** What a client says that a request is for, such as `customer` and `acme`: names in order. */
export type Labels = ReadonlyMap<string, string>;

const MAX_LABELS = 8;
const NAME = /^[A-Za-z][\w.-]{0,63}$/;
const VALUE = /^[^\p{Cc},]{1,64}$/u;

const NAME_RULE = 'a name is a letter and up to 63 letters, digits, dots, dashes or underscores';
const VALUE_RULE = 'a value has 1 to 64 characters and no comma';

/** Reads `customer=acme,feature=search`. Throws GwError 400 with `param`. */
export function parseLabels(text: string, param: string): Labels {
  const pairs = text.split(',').map((pair): [string, string] => {
    const at = pair.indexOf('=');
    if (at < 0) throw badRequest(`"${param}" has "${pair.trim()}": use NAME=VALUE,NAME=VALUE`, param);
    return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
  });
  return checked(pairs, param);
}

/** Reads an object of texts. Throws GwError 400 with `param`. */
export function readLabels(value: unknown, param: string): Labels {
  if (!isObject(value)) throw badRequest(`"${param}" must be an object, such as {"customer": "acme"}`, param);
  return checked(
    Object.entries(value).map(([name, text]) => {
      if (typeof text !== 'string') throw badRequest(`"${param}.${name}" must be text`, param);
      return [name, text.trim()];
    }),
    param,
  );
}

/** Labels of several origins; the first that has a name decides. Throws GwError 400 for too many. */
export function mergeLabels(param: string, ...all: readonly (Labels | undefined)[]): Labels | undefined {
  const given = all.filter((labels) => labels !== undefined);
  if (given.length < 2) return given[0];
  return checked(
    given.toReversed().flatMap((labels) => [...labels]),
    param,
  );
}

/** As an object of JSON, which names in order make the same for the same labels. */
export const labelsText = (labels: Labels): string => JSON.stringify(Object.fromEntries(labels));

/** Reads what `labelsText` has written. */
export const labelsOf = (text: string): Labels => new Map(Object.entries(JSON.parse(text)));

export const labelsHeader = (labels: Labels): string =>
  [...labels].map(([name, value]) => `${name}=${value}`).join(',');

/** The name in a text such as `label:customer`; undefined for any other text. */
export function labelName(text: string): string | undefined {
  const name = text.startsWith('label:') ? text.slice('label:'.length) : '';
  return NAME.test(name) ? name : undefined;
}

function checked(pairs: readonly (readonly [string, string])[], param: string): Labels {
  for (const [name, value] of pairs) {
    if (!NAME.test(name)) throw badRequest(`"${param}" has the name "${name}": ${NAME_RULE}`, param);
    if (!VALUE.test(value)) throw badRequest(`"${param}" has "${name}=${value}": ${VALUE_RULE}`, param);
  }
  const labels = new Map([...new Map(pairs)].sort(([a], [b]) => (a < b ? -1 : 1)));
  if (labels.size > MAX_LABELS)
    throw badRequest(`"${param}" has ${labels.size} labels: a request may have ${MAX_LABELS}`, param);
  return labels;
}
