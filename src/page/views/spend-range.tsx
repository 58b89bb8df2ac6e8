import { type Address, CONDITIONS, change } from '../state/address.ts';
import { GROUPINGS, type Grouping, isLabel } from '../state/groupings.ts';

const SPANS = [
  ['6d', '7 days'],
  ['29d', '30 days'],
  ['89d', '90 days'],
] as const;

/** The days, groupings and filters of the report, all in the address. */
export function Range({ address, by, and }: { address: Address; by: Grouping; and: Grouping | undefined }) {
  const { from = '29d', to = '' } = address.parameters;
  const isDate = /^\d{4}-/.test(from);
  const active = CONDITIONS.filter((name) => address.parameters[name]);
  return (
    <div className="filters">
      <fieldset className="choice">
        <legend className="unseen">Days</legend>
        {SPANS.map(([span, label]) => (
          <button
            key={span}
            type="button"
            aria-pressed={from === span && to === ''}
            onClick={() => change({ from: span, to: undefined })}
          >
            {label}
          </button>
        ))}
      </fieldset>
      <label>
        <span>from</span>
        <input
          type="date"
          value={isDate ? from : ''}
          onChange={({ currentTarget }) => change({ from: currentTarget.value })}
        />
      </label>
      <label>
        <span>to</span>
        <input type="date" value={to} onChange={({ currentTarget }) => change({ to: currentTarget.value })} />
      </label>
      <Grouped name="by" label="by" value={by} />
      <Grouped name="and" label="and" value={and} />
      <LabelName />
      {active.map((name) => (
        <button
          key={name}
          type="button"
          className="chip"
          aria-label={`Remove the filter ${name} ${address.parameters[name]}`}
          onClick={() => change({ [name]: undefined })}
        >
          {name.replace('_id', '')}: {address.parameters[name]} ×
        </button>
      ))}
    </div>
  );
}

/** Which labels there are is known to whoever sends them, so their names are typed. */
function LabelName() {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const name = String(new FormData(event.currentTarget).get('label')).trim();
        if (isLabel(`label:${name}`)) change({ by: `label:${name}` });
        event.currentTarget.reset();
      }}
    >
      <label>
        <span>by label</span>
        <input name="label" placeholder="customer" autoComplete="off" />
      </label>
    </form>
  );
}

function Grouped({
  name,
  label,
  value = '',
}: {
  name: string;
  label: string;
  value?: Grouping | undefined | '';
}) {
  return (
    <label>
      <span>{label}</span>
      <select value={value} onChange={({ currentTarget }) => change({ [name]: currentTarget.value })}>
        {name === 'and' ? <option value="">nothing</option> : null}
        {[...GROUPINGS, ...(value && isLabel(value) ? [value] : [])].map((grouping) => (
          <option key={grouping}>{grouping}</option>
        ))}
      </select>
    </label>
  );
}
