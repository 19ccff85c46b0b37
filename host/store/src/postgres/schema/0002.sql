-- The gateways that use a database, and which of them is at work.

-- The one at work, until `expires` by the clock of the server, and longer where no other wants its place. Not in the row of `home`: a
-- renewal would wait for a long commit. `epoch` is that of `home`, or 0 once another gateway has taken the lease and not begun yet.
create table lease (
    home smallint primary key,
    epoch bigint not null,
    node text collate "C" not null,
    session integer not null,
    expires timestamptz not null
) with (fillfactor = 50);

-- All of them, each by its name; `configuration` is a digest.
create table node (
    name text collate "C" primary key,
    address text,
    version text not null,
    configuration text not null,
    standby boolean not null,
    seen timestamptz not null
) with (fillfactor = 50);
