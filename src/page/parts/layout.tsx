import { Fragment, type ReactNode } from 'preact/compat';
import type { Known } from '../state/readings.ts';

/** A part of a view under its heading, with what can be done about it beside. */
export function Section({
  title,
  aside,
  children,
}: {
  title: string;
  aside?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className="part" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

export interface Figure {
  label: string;
  value: string;
  note?: string | undefined;
  mark?: 'warn' | 'bad' | undefined;
}

/** The figures that a view begins with. */
export function Figures({ figures }: { figures: readonly Figure[] }) {
  return (
    <dl className="figures">
      {figures.map(({ label, value, note, mark }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd className={mark}>{value}</dd>
          {note === undefined ? null : <dd className="note">{note}</dd>}
        </div>
      ))}
    </dl>
  );
}

/** What to do where there is nothing yet. */
export function Empty({ children, command }: { children: ReactNode; command?: string }) {
  return (
    <div className="empty">
      <p>{children}</p>
      {command === undefined ? null : <Command text={command} />}
    </div>
  );
}

/** A command to copy. */
export function Command({ text }: { text: string }) {
  return (
    <p className="command">
      <code>{text}</code>
      <button type="button" onClick={() => void navigator.clipboard?.writeText(text)}>
        Copy
      </button>
    </p>
  );
}

/** The rest of a view as soon as its reading is there; above it, why it is not or is old. */
export function Loaded<Answer>({
  known,
  children,
}: {
  known: Known<Answer>;
  children: (answer: Answer) => ReactNode;
}) {
  return (
    <>
      <Problem text={known.error} />
      {known.data !== undefined ? children(known.data) : known.error === undefined ? <Waiting /> : null}
    </>
  );
}

/** What went wrong, if anything. */
export function Problem({ text }: { text: string | undefined }) {
  return text === undefined ? null : (
    <p className="problem" role="alert">
      {text}
    </p>
  );
}

/** Shows nothing for the first 200 ms, by its style. */
function Waiting() {
  return (
    <p className="waiting" role="status">
      Reading ...
    </p>
  );
}

/** Labels and texts, as `gw requests ID` prints them. */
export function Facts({ facts }: { facts: readonly (readonly [label: string, text: ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts.map(([label, text], i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: labels can be empty or alike, and the order stays
        <Fragment key={i}>
          <dt>{label}</dt>
          <dd>{text}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
