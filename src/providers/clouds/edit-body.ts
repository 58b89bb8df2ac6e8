import { applyEdits, insertMember, removeElements } from '../../json/edit.ts';
import { JsonSyntaxError, readValue, scanObject } from '../../json/scan.ts';

/** A messages request that is addressed by its path. */
export interface AddressedBody {
  model: string;
  isStream: boolean;
  body: Buffer;
}

/**
 * Takes `model` and the fields of `removed` out of a request's body, and puts `added` in where the client hasn't. The
 * other bytes stay. Undefined for a body without a model.
 */
export function addressedBody(
  bytes: Buffer,
  removed: ReadonlySet<string>,
  added: Readonly<Record<string, unknown>>,
): AddressedBody | undefined {
  try {
    const members = scanObject(bytes);
    const model = members.find(({ key }) => key === 'model');
    const stream = members.find(({ key }) => key === 'stream');
    const name = model && readValue(bytes, model);
    if (typeof name !== 'string') return undefined;
    const ranges = members.map(({ key, keyStart, end }) => ({ key, start: keyStart, end }));
    const missing = Object.entries(added).filter(([key]) => !members.some((member) => member.key === key));
    const body = applyEdits(bytes, [
      ...missing.map(([key, value]) => insertMember(members, key, JSON.stringify(value))),
      ...removeElements(ranges, ({ key }) => key === 'model' || removed.has(key)),
    ]);
    return { model: name, isStream: stream !== undefined && readValue(bytes, stream) === true, body };
  } catch (error) {
    // Invalid JSON is the provider's to refuse.
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
