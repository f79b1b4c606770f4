import React, { useState, type ReactNode } from 'react';
import * as Icons from './icons';
import { Button } from '@kit/button';
import { useTheme as theme } from './theme';
import './panel.css';

export { Button };
export * from './dialog';

/** What a panel may be told. */
export interface PanelProps<T = unknown> {
  title: string;
  rows: readonly T[];
  render?: (row: T) => ReactNode;
  onClose(reason: CloseReason): void;
}

type CloseReason = 'escape' | 'button';

export enum Side { Left = 'left', Right = 'right' }

const DEFAULT_TITLE = 'Untitled';

const Context = React.createContext<Side>(Side.Left);

/** Rows in a box with a title. */
export function Panel<T,>({ title = DEFAULT_TITLE, rows, render, onClose }: PanelProps<T>): JSX.Element {
  const [open, setOpen] = useState(true);
  const close = (reason: CloseReason): void => {
    setOpen(false);
    onClose(reason);
  };
  return (
    <Context.Provider value={Side.Right}>
      <section className={theme().panel} hidden={!open}>
        <Header title={title} icon={<Icons.Close />} />
        {rows.map((row) => <Row key={String(row)}>{render?.(row)}</Row>)}
        <Button onClick={() => close('button')}>Close</Button>
      </section>
    </Context.Provider>
  );
}

const Header = ({ title, icon }: { title: string; icon: ReactNode }) => (
  <header>{icon}{title}</header>
);

export const Row = React.memo(function Row({ children }: React.PropsWithChildren) {
  return <div>{children}</div>;
});

export default class Frame extends React.Component<PanelProps> {
  static displayName = 'Frame';
  state = { open: true };

  private toggle = () => this.setState({ open: !this.state.open });

  render(): ReactNode {
    return <Panel<string> {...this.props} onClose={this.toggle} />;
  }
}
