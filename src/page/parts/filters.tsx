import type { FormEvent } from 'preact/compat';
import { type Address, change } from '../state/address.ts';

const LABELS: Record<string, string> = { project_id: 'project' };
const HINTS: Record<string, string> = { status: 'failed, blocked, 429 ...', label: 'customer=acme' };

/** The conditions of a list, as fields that the address keeps. */
export function Filters({ names, address }: { names: readonly string[]; address: Address }) {
  function submit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const fields = [...new FormData(event.currentTarget)].map(([name, value]) => [
      name,
      String(value).trim(),
    ]);
    change({ ...Object.fromEntries(fields), cursor: undefined });
  }
  const key = JSON.stringify(names.map((name) => address.parameters[name]));
  return (
    <form className="filters" aria-label="Filters" onSubmit={submit} key={key}>
      {names.map((name) => (
        <label key={name}>
          <span>{LABELS[name] ?? name}</span>
          <input
            name={name}
            defaultValue={address.parameters[name]}
            placeholder={HINTS[name] ?? 'any'}
            autoComplete="off"
          />
        </label>
      ))}
      <button type="submit">Filter</button>
    </form>
  );
}
