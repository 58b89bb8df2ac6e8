import { isEmpty, type Json } from './json.ts';

/** Records a field of the client's request that is missing from the translated request. */
export type LeaveOut = (param: string) => void;

/** Collects the fields that a translation omitted, without list indexes: `messages[].name`, `tools[] (web_search)`. */
export interface LeftOut {
  leaveOut: LeaveOut;
  fields(): string[];
}

export function createLeftOut(): LeftOut {
  const fields = new Set<string>();
  return {
    leaveOut: (param) => void fields.add(param.replace(/\[\d+\]/g, '[]')),
    fields: () => [...fields],
  };
}

/** The object's fields without those in `names`. Each of them that has a value is recorded as omitted. */
export function without(fields: Json, names: readonly string[], at: string, leaveOut: LeaveOut): Json {
  if (!names.some((name) => name in fields)) return fields;
  const rest = { ...fields };
  for (const name of names) {
    if (!isEmpty(rest[name]) && rest[name] !== false) leaveOut(`${at}.${name}`);
    delete rest[name];
  }
  return rest;
}
