//! Whether a journal is sound: what the store finds below its rows, and what haft promises of them.

use std::ops::ControlFlow;

use haft_contract::RunId;

use super::Stop;
use super::ask;
use super::codec;
use super::inspection::Inspection;
use super::lease_state::LeaseState;
use crate::store::{
    Reader, Row, RowError, RowQuery, StoreFailure, Table, asks, calls, late_outcomes, messages,
    parts, runs, sessions,
};
use crate::{JournalError, JournalFinding};

/// Looks at everything.
pub(super) fn verify(
    reader: &mut dyn Reader,
    medium: &'static str,
) -> Result<Vec<JournalFinding>, Stop> {
    let mut inspection = Inspection::default();
    for look in [store, rows] {
        match look(reader, &mut inspection) {
            Ok(()) => {}
            // Damage is what is looked for; any other failure is no finding.
            Err(StoreFailure(JournalError::Damaged { detail, .. })) => {
                inspection.find(&format!("the {medium} can be read"), detail);
            }
            Err(failure) => return Err(failure.into()),
        }
    }
    Ok(inspection.into_findings())
}

fn store(reader: &mut dyn Reader, inspection: &mut Inspection) -> Result<(), StoreFailure> {
    for (rule, detail) in reader.inspect()? {
        inspection.find(&rule, detail);
    }
    Ok(())
}

fn rows(reader: &mut dyn Reader, inspection: &mut Inspection) -> Result<(), StoreFailure> {
    let mut show = |table: &'static Table, order, look: Look| {
        let query = RowQuery::of(table, table.columns).in_order(order);
        reader.scan(&query, &mut |mut row| {
            // A row that makes no sense is a finding and not the end.
            if let Err(err) = look(&mut row, inspection) {
                inspection.find("rows make sense", err.to_string());
            }
            ControlFlow::Continue(())
        })
    };
    show(&runs::TABLE, &[runs::NUMBER], |row, inspection| {
        let run: RunId = row.word(runs::ID, |text| RunId::parse(text).ok())?;
        let settings = row.text(runs::SETTINGS)?;
        inspection.run(&run, LeaseState::of_row(row)?, &settings);
        Ok(())
    })?;
    show(&calls::TABLE, calls::TABLE.key, |row, inspection| {
        inspection.call(&codec::call_row(row)?);
        Ok(())
    })?;
    show(&late_outcomes::TABLE, late_outcomes::TABLE.key, |row, inspection| {
        inspection.late_outcome(&codec::late_outcome(row)?);
        Ok(())
    })?;
    show(&asks::TABLE, asks::TABLE.key, |row, inspection| {
        inspection.ask(&ask::ask_row(row)?);
        Ok(())
    })?;
    show(&sessions::TABLE, sessions::TABLE.key, |row, inspection| {
        inspection.session(&codec::session_row(row)?);
        Ok(())
    })?;
    show(&messages::TABLE, messages::TABLE.key, |row, inspection| {
        inspection.message(&codec::message_row(row)?);
        Ok(())
    })?;
    show(&parts::TABLE, parts::TABLE.key, |row, inspection| {
        inspection.part(&codec::part_row(row)?);
        Ok(())
    })
}

type Look = fn(&mut Row, &mut Inspection) -> Result<(), RowError>;
